#!/usr/bin/env python3
"""Chooses which sources of a target are compiled together: source_groups.py FILE..., run in the target's folder.

Prints a line `GROUP FILE` a file. Most of the time of a small source goes into its headers, which a group reads once. Two files
stay apart where one declares a name for itself alone (in an unnamed namespace, or as a macro) that the other declares or calls, or a
header that only the later one reads: together they would not compile, or would mean something else. A file goes into the first group
that takes it.
"""
import os
import re
import sys

LINES = 1000  # of a group: more saves less and less, and a change of one file compiles all of its group

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"')
# Macros of GoogleTest that stand where declarations do, and those of them whose first argument is a name that they declare.
NAMING_MACROS = {"MATCHER", "MATCHER_P", "MATCHER_P2", "MATCHER_P3", "ACTION", "ACTION_P"}
TEST_MACROS = {"TEST", "TEST_F", "TEST_P", "INSTANTIATE_TEST_SUITE_P", *NAMING_MACROS}
TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|[{}();=.,\[<]")


def own_names(text):
    """The names that `text`, without comments, declares in unnamed namespaces: at their top, or as members of plain enumerations."""
    names = set(re.findall(r"^#define (\w+)", text, re.M))
    depth = inside = 0  # of braces; the depth of the unnamed namespace, where the walk is in one
    enumeration = None  # the depth of its braces
    last = ""
    statement = []
    for token in TOKEN.findall(text):
        if token == "{":
            depth += 1
            if last == "namespace" and not inside:
                inside = depth
            elif inside and depth == inside + 1:
                plain = "enum" in statement and statement[statement.index("enum") + 1 : statement.index("enum") + 2] not in (["class"], ["struct"])
                enumeration = depth if plain else None
                if last.isidentifier():
                    names.add(last)
            statement = []
        elif token == "}":
            if enumeration == depth:
                if last.isidentifier():
                    names.add(last)
                enumeration = None
            if inside == depth:
                inside = 0
            depth -= 1
            statement = []
        elif token == ";":
            if inside == depth and last.isidentifier():
                names.add(last)
            statement = []
        else:
            if inside and inside == depth:
                if token in ("(", "=", "[") and last.isidentifier() and last not in TEST_MACROS:
                    names.add(last)
                if last == "(" and statement[-2:-1] and statement[-2] in NAMING_MACROS:
                    names.add(token)
                if last in ("struct", "class", "enum", "using", "union") and token.isidentifier():
                    names.add(token)
            elif enumeration == depth and token in ("=", ",") and last.isidentifier():
                names.add(last)
            statement.append(token)
        last = token
    return names


def called_names(text):
    """The names that `text` calls or instantiates, members of objects excepted."""
    return set(re.findall(r"(?<![\w.>])([A-Za-z_]\w*)\s*[({<]", text)) | set(re.findall(r"(?<![\w.>])([A-Za-z_]\w*)\s+[a-z]\w*[ ;={(]", text))


def headers_below(text, found=None):
    """The names that each header below this folder calls, and its constants, of those that `text` reads, by their paths."""
    found = {} if found is None else found
    for header in re.findall(r'^#include "([^"]+)"', text, re.M):
        if header not in found and os.path.exists(header):
            with open(header, encoding="utf-8") as file:
                content = file.read()
            found[header] = called_names(content) | set(re.findall(r"\bk[A-Z]\w*", content))
            headers_below(content, found)
    return found


class Group:
    def __init__(self):
        self.lines = 0
        self.owned, self.taken = set(), set()  # names that its files declare for themselves alone, and that others may not
        self.read = set()  # headers

    def takes(self, lines, own, used, headers):
        new = set().union(*(names for header, names in headers.items() if header not in self.read))
        return self.lines + lines <= LINES and not self.owned & (used | new) and not own & self.taken

    def add(self, lines, own, used, headers):
        self.lines += lines
        self.owned |= own
        self.taken |= used
        self.read |= set(headers)


def main():
    groups = []
    for file in sys.argv[1:]:
        with open(file, encoding="utf-8") as source:
            text = source.read()
        headers = headers_below(text)
        lines = text.count("\n")
        text = COMMENT_OR_TEXT.sub("", text)
        own = own_names(text)
        described = (lines, own, own | called_names(text), headers)
        index = next((index for index, group in enumerate(groups) if group.takes(*described)), len(groups))
        if index == len(groups):
            groups.append(Group())
        groups[index].add(*described)
        print(index, file)


if __name__ == "__main__":
    main()
