#!/usr/bin/env python3
"""Manual pages, completion of shells and the reference of options, from what the program says of itself.

manual.py VERNIER man FOLDER          vernier.1.gz and a page for each verb
manual.py VERNIER completion FOLDER   for bash (vernier), zsh (_vernier) and fish (vernier.fish)
manual.py VERNIER reference FILE      the options of every verb, as Markdown
manual.py VERNIER errors FILE         docs/errors.md: what the program can answer with

Needs nothing but Python. Options of runners are read from the two columns of text that follow the options of a verb in its help.
"""
import gzip
import json
import pathlib
import re
import subprocess
import sys


def program_of(vernier):
    return json.loads(subprocess.run([vernier, "help", "--format", "json"], capture_output=True, text=True, check=True).stdout)


def head_of(option):
    """As it is typed: `--json FILE`, `MODEL...`."""
    if option["argument"]:
        return option["argument"] + ("..." if option["repeats"] else "")
    value = option["value"].split(":")[0]
    return ", ".join(option["names"]) + (f" {value}" if value else "")


def text_of(option):
    default = f" (default: {option['default']})" if option["default"] and "default:" not in option["description"] else ""
    return option["description"] + default


def footer_parts(footer):
    """Headings, and options with what is said of them: ("", heading) and (head, text)."""
    parts = []
    for line in footer.splitlines():
        option = re.match(r"^ {2}(--\S.*?)(?: {2,}(.*))?$", line)
        if option:
            parts.append([option[1].strip(), option[2] or ""])
        elif line.startswith("   ") and parts and parts[-1][0]:
            parts[-1][1] = f"{parts[-1][1]} {line.strip()}".strip()
        elif line.strip():
            parts.append(["", line.strip()])
    return parts


def all_names(verb):
    """Every option of a verb, and whether it takes a value."""
    names = {name: bool(option["value"]) for option in verb["options"] for name in option["names"]}
    for head, _ in footer_parts(verb["footer"]):
        for name in re.findall(r"(?:^|[ |])(--[a-z][a-z0-9-]*)", head):
            names.setdefault(name, bool(re.match(rf".*{re.escape(name)}[ =]\S", head)))
    return names


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def man_page(program, verb=None):
    name = program["name"] + (f"-{verb['name']}" if verb else "")
    summary = (verb or program)["summary"].rstrip(".")
    lines = [f'.TH {name.upper()} 1 "" "vernier {program["version"]}" "Vernier"', ".SH NAME", f"{roff(name)} \\- {roff(summary)}", ".SH SYNOPSIS"]
    if verb is None:
        lines += [f".B {program['name']}", "VERB [OPTION...]", ".SH VERBS"]
        for each in program["verbs"]:
            lines += [".TP", f".B {roff(each['name'])}", roff(each["summary"])]
        lines += [".SH EXIT STATUS"]
        for each in program["exit_statuses"]:
            lines += [".TP", f".B {each['status']}", roff(each["meaning"])]
        lines += [".SH SEE ALSO", ", ".join(f"{program['name']}\\-{each['name']}(1)" for each in program["verbs"])]
        return "\n".join(lines) + "\n"
    arguments = [option for option in verb["options"] if option["argument"]]
    lines += [f".B {program['name']} {roff(verb['name'])}", " ".join(["[OPTION...]"] + [head_of(option) for option in arguments])]
    for title, options in (("ARGUMENTS", arguments), ("OPTIONS", [option for option in verb["options"] if not option["argument"]])):
        lines += [f".SH {title}"] if options else []
        for option in options:
            lines += [".TP", f".B {roff(head_of(option))}", roff(text_of(option))]
    for head, text in footer_parts(verb["footer"]):
        lines += [".TP", f".B {roff(head)}", roff(text)] if head else [".PP", roff(text)]
    return "\n".join(lines) + "\n.SH SEE ALSO\nvernier(1)\n"


def write_man(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for verb in [None, *program["verbs"]]:
        name = "vernier" if verb is None else f"vernier-{verb['name']}"
        (folder / f"{name}.1.gz").write_bytes(gzip.compress(man_page(program, verb).encode(), 9, mtime=0))


def bash(program):
    verbs = " ".join(verb["name"] for verb in program["verbs"])
    cases = "\n".join(f"    {verb['name']}) options='{' '.join(sorted(all_names(verb)))}' ;;" for verb in program["verbs"])
    return f"""# Completion of vernier for bash.
_vernier() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{verbs} --help --version' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _vernier vernier
"""


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def descriptions(verb):
    """Describes every option in a few words."""
    told = {name: option["description"] for option in verb["options"] for name in option["names"]}
    for head, text in footer_parts(verb["footer"]):
        for name in re.findall(r"(?:^|[ |])(--[a-z][a-z0-9-]*)", head):
            told.setdefault(name, text)
    return {name: re.split(r"[;(]|\. ", told[name])[0].strip()[:70] for name in all_names(verb)}


def zsh(program):
    verbs = "\n".join(f"    {quoted(verb['name'] + ':' + verb['summary'].replace(':', ' '))}" for verb in program["verbs"])
    cases = []
    for verb in program["verbs"]:
        told, takes = descriptions(verb), all_names(verb)
        clean = lambda text: re.sub(r"[\[\]:]", " ", text)
        words = " ".join(quoted(f"*{name}[{clean(told[name])}]" + (": :_files" if takes[name] else "")) for name in sorted(takes))
        cases.append(f"    {verb['name']}) _arguments -s {words} '*:file:_files' ;;")
    newline = "\n"
    return f"""#compdef vernier
# Completion of vernier for zsh.
_vernier() {{
  local -a verbs=(
{verbs}
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{newline.join(cases)}
  esac
}}
_vernier "$@"
"""


def fish(program):
    lines = ["# Completion of vernier for fish."]
    for verb in program["verbs"]:
        lines.append(f"complete -c vernier -n __fish_use_subcommand -a {verb['name']} -d {quoted(verb['summary'])}")
        takes = all_names(verb)
        for name, text in sorted(descriptions(verb).items()):
            kind = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            lines.append(f"complete -c vernier -n '__fish_seen_subcommand_from {verb['name']}' {kind}{' -r' if takes[name] else ''} -d {quoted(text)}")
    return "\n".join(lines) + "\n"


def write_completion(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("vernier", bash(program)), ("_vernier", zsh(program)), ("vernier.fish", fish(program))):
        (folder / name).write_text(text)


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def reference(program):
    lines = ["# Options", "", f"Made by `packaging/manual.py` of what `vernier help --format json` says; `vernier VERB --help` prints the same.", ""]
    for verb in program["verbs"]:
        lines += [f"## vernier {verb['name']}", "", verb["summary"][:1].upper() + verb["summary"][1:] + ".", ""]
        rows = [(head_of(option), text_of(option)) for option in verb["options"]]
        for head, text in rows + [tuple(part) for part in footer_parts(verb["footer"])]:
            lines.append(f"- `{head}`: {cell(text)}" if head else f"\n{cell(text)}\n")
        lines.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


FOUND_BY = {"model": "`check MODEL`", "data": "`check MODEL --data D`", "engine": "`check MODEL --cpu`, or another runner", "target": "`check MODEL --for TARGET`, `export`"}


def link(name, page):
    return f"[{name}]({page.removeprefix('docs/')})"


def rows(*cells_of_rows):
    head, *body = [f"| {' | '.join(map(str, cells))} |" for cells in cells_of_rows]
    return [head, "|" + "---|" * len(cells_of_rows[0]), *body, ""]


def errors(program):
    statuses, codes, verdicts, classes, findings = (program[name] for name in ("exit_statuses", "errors", "verdicts", "classes", "findings"))
    lines = ["# Errors and findings", "", "Everything that Vernier answers with, and the page that explains it. `packaging/manual.py VERNIER errors docs/errors.md` makes this page of what",
             "`vernier help --format json` says; a test holds it to the program, and each code to a test that meets it.", "",
             "## Exit statuses", ""]
    lines += rows(("status", "is", "when"), *((each["status"], link(f"`{each['name']}`", each["page"]), each["meaning"]) for each in statuses))
    lines += ["Killed by a signal, the program ends by that signal; a runner that is killed is told in the report.", "", "## Errors", "",
              "An error says what is wrong, in which file and node, and what to do next: in the program's last line, in C and C++ by `vernier_last_error()` and", "`Error`, in Python by `VernierError` with `code`, `file`, `node` and `advice`.", ""]
    lines += rows(("code", "status in C", "in Python", "when"), *((link(f"`{each['code']}`", each["page"]), each["status"], f"`{each['python']}`", each["meaning"]) for each in codes))
    lines += ["## Verdicts", ""]
    lines += rows(("verdict", "when"), *((link(f"`{each['name']}`", each["page"]), each["meaning"]) for each in verdicts))
    lines += ["## Classes of failures", "", "What `vernier diagnose` names as the cause. The findings on the right tell of it before anything has run.", ""]
    of_class = lambda code: ", ".join(f"`{each['code']}`" for each in findings if each["code"].startswith(code + "-"))
    lines += rows(("class", "is", "findings"), *((link(each["code"], each["page"]), each["title"], of_class(each["code"])) for each in classes))
    lines += ["## Findings", "", "What `vernier check` reports of a model, by what it takes to see it.", ""]
    for found_by, command in FOUND_BY.items():
        named = [each for each in findings if each["found_by"] == found_by]
        lines += [f"### {command}", "", f"Explained in {link('hazards', named[0]['page'])}.", ""]
        lines += rows(("finding", "says"), *((f"`{each['code']}`", each["title"]) for each in named))
    return "\n".join(lines).rstrip() + "\n"


def main():
    vernier, what, target = sys.argv[1:]
    program = program_of(vernier)
    if what == "man":
        write_man(program, pathlib.Path(target))
    elif what == "completion":
        write_completion(program, pathlib.Path(target))
    elif what == "reference":
        pathlib.Path(target).write_text(reference(program))
    elif what == "errors":
        pathlib.Path(target).write_text(errors(program))
    else:
        sys.exit(f"manual.py: there are man, completion, reference and errors, not {what}")


if __name__ == "__main__":
    main()
