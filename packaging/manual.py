#!/usr/bin/env python3
"""Manual pages, completion of shells and the reference of options, from what the program says of itself.

manual.py VERNIER man FOLDER          vernier.1.gz and a page for each verb
manual.py VERNIER completion FOLDER   for bash (vernier), zsh (_vernier) and fish (vernier.fish)
manual.py VERNIER reference FILE      Markdown

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
        lines += [".SH EXIT STATUS", "0: the verdict is a pass. 1: it is not. 2: the command line is wrong. 3: what it reads is wrong. 4: what is asked for is not there.", ".SH SEE ALSO",
                  ", ".join(f"{program['name']}\\-{each['name']}(1)" for each in program["verbs"])]
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


def main():
    vernier, what, target = sys.argv[1:]
    program = program_of(vernier)
    if what == "man":
        write_man(program, pathlib.Path(target))
    elif what == "completion":
        write_completion(program, pathlib.Path(target))
    elif what == "reference":
        pathlib.Path(target).write_text(reference(program))
    else:
        sys.exit(f"manual.py: there are man, completion and reference, not {what}")


if __name__ == "__main__":
    main()
