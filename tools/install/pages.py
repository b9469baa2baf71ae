#!/usr/bin/env python3
"""Manual pages and completions, from what --help says.

  pages.py --bin BUILD/bin --model MODEL.onnx FOLDER

writes lwcc.1, lwcc-inspect.1, lwcc-machine.1, lwcc-profile.1, lwcc-run.1, lwcc-trainer.1 and one for
each command of a trainer,
lwcc.bash and _lwcc (for zsh) into FOLDER. The flags, their values and their
descriptions come from the programs' own --help and from nowhere else; the
trainer's from lwcc-run with the model, since every trainer has the same.
lwcc.1 is written last: it is what the build looks at.
"""
import argparse
import os
import re
import subprocess
import textwrap
from dataclasses import dataclass, field


@dataclass
class Flag:
    name: str  # with its dashes
    value: str  # "FILE", "cuda|cpu"; "" if it takes none
    optional: bool  # the value may be left out
    text: str

    def choices(self):
        words = self.value.split("|")
        literal = all(re.fullmatch(r"[a-z0-9-]+", word) for word in words)
        return words if self.value and literal else []

    def spelled(self):
        if not self.value:
            return self.name
        if self.optional:
            return f"{self.name}[={self.value}]"
        return f"{self.name}{'=' if self.name.startswith('--') else ' '}{self.value}"


@dataclass
class Page:
    name: str  # of the page: "lwcc-machine"
    command: str  # as it is called: "lwcc machine"
    summary: str
    about: list = field(default_factory=list)  # paragraphs
    usage: str = ""
    sections: list = field(default_factory=list)  # (heading, [Flag])

    def flags(self):
        return sorted((flag for _, flags in self.sections for flag in flags),
                      key=lambda flag: flag.name.lstrip("-"))


# As LLVM prints them (-o <FILE> - text) and as the trainer does (--log=FILE  text).
FLAG = re.compile(r"  (--?[\w-]+)(?:(\[)=<([^>]+)>\]|[= ]<([^>]+)>|=(\S+))?\s+(?:- )?(\S.*)")


# A command of the trainer, in its list of them.
COMMAND = re.compile(r"  ([a-z]+)\s\s+(\S.*)")


def sections_of(lines):
    """The headings and flags of a --help; what a flag does may go on in lines
    that are indented."""
    sections = []
    for line in lines:
        match = FLAG.fullmatch(line)
        if match:
            name, optional, *values, text = match.groups()
            value = next(filter(None, values), "")
            sections[-1][1].append(Flag(name, value, bool(optional), text))
        elif re.fullmatch(r"\S.*:", line):
            sections.append((line.rstrip(":"), []))
        elif line.startswith("     ") and sections and sections[-1][1]:
            sections[-1][1][-1].text += " " + line.strip()
        elif line.strip() and not COMMAND.fullmatch(line):
            raise SystemExit(f"pages.py: not understood in --help: {line!r}")
    return [(heading, flags) for heading, flags in sections if flags]


def helped(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return result.stdout.rstrip("\n").split("\n")


def compiler_page(folder, command):
    program, *rest = command.split()
    lines = helped([os.path.join(folder, program), *rest, "--help"])
    usage = next(i for i, line in enumerate(lines) if line.startswith("USAGE: "))
    overview = [line for line in lines[:usage] if line]
    first, *more = overview
    first = first.removeprefix(f"OVERVIEW: {command}: ")
    summary = re.split(r"[.;] ", first)[0]
    about = [" ".join([first[0].upper() + first[1:],
                       *(line for line in more if line[0] != " ")]).rstrip(".") + "."]
    about += [line.strip() + "." for line in more if line[0] == " "]
    return Page(command.replace(" ", "-"), command, summary, about,
                lines[usage].removeprefix("USAGE: "), sections_of(lines[usage + 1:]))


def trainer_pages(folder, model):
    """The page of trainers, and those of their commands."""
    def helped_with(*command):
        lines = helped([os.path.join(folder, "lwcc-run"), model, "--batch=1", "--", *command,
                        "--help"])
        usage = next(i for i, line in enumerate(lines) if line.startswith("Usage: "))
        flags = lines[usage][lines[usage].index(" --"):]
        return lines[usage + 1:], " ".join(["./trainer", *command]) + flags

    lines, usage = helped_with()
    commands = [match.groups() for match in map(COMMAND.fullmatch, lines) if match]
    pages = [Page("lwcc-trainer", "trainer", "the program that lwcc makes: trains a model",
                  ["Every program that lwcc makes takes these flags, whatever it is called; "
                   "lwcc-run takes them behind a lone --.",
                   "Its first argument may be a command: " +
                   "; ".join(f"{name}, {does}" for name, does in commands) + "."],
                  usage, sections_of(lines))]
    for name, does in commands:
        lines, usage = helped_with(name)
        pages.append(Page(f"lwcc-trainer-{name}", f"trainer {name}", does, [
            f"What a program that lwcc makes does as ./trainer {name}."], usage,
            sections_of(lines)))
    return pages


# --- manual pages -------------------------------------------------------------


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def manual(page, version, others):
    out = [f'.TH {page.name.upper()} 1 "" "lwcc {version}" "User Commands"',
           ".SH NAME", f"{troff(page.name)} \\- {troff(page.summary)}",
           ".SH SYNOPSIS", ".B " + troff(page.usage), ".SH DESCRIPTION"]
    for paragraph in page.about:
        out += [".PP", troff(paragraph)]
    for heading, flags in page.sections:
        out.append(".SH " + troff(heading.upper()))
        for flag in flags:
            out += [".TP", ".B " + troff(flag.spelled()), troff(flag.text)]
    out += [".SH SEE ALSO",
            ", ".join(f"\\fB{troff(other.name)}\\fR(1)" for other in others)]
    return "\n".join(out) + "\n"


# --- bash -----------------------------------------------------------------------

BASH = """\
# Completions for lwcc and lwcc-run, made from their --help.
_lwcc_flags() {
  case $1 in
@FLAGS@
  esac
}
_lwcc_values() {
  case $1 in
@VALUES@
  esac
}
_lwcc() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} flag='' word
  local page=${COMP_WORDS[0]##*/}
  [[ $page == lwcc && ${COMP_WORDS[1]} == @(inspect|machine|plan|profile) ]] && page=lwcc-${COMP_WORDS[1]}
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $page == lwcc-trainer && $word == @(@COMMANDS@) ]] && page+=-$word
    [[ $page == lwcc-run && $word == -- ]] && page=lwcc-trainer
  done
  # bash takes the = of --flag=value for a word.
  if [[ $cur == = ]]; then
    flag=$prev cur=''
  elif [[ $prev == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  if [[ -n $flag ]]; then
    COMPREPLY=($(compgen -W "$(_lwcc_values "$page $flag")" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_lwcc_flags "$page")" -- "$cur"))
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  elif [[ $page == lwcc && $COMP_CWORD == 1 ]]; then
    COMPREPLY=($(compgen -W "inspect machine plan profile" -- "$cur"))
  elif [[ $page == lwcc-trainer && $prev == -- ]]; then
    COMPREPLY=($(compgen -W "$(tr '|' ' ' <<< '@COMMANDS@')" -- "$cur"))
  fi
}
complete -o default -o bashdefault -F _lwcc lwcc lwcc-run
"""


def commands_of(pages):
    """The trainer's commands."""
    return [page.command.split()[1] for page in pages
            if page.name.startswith("lwcc-trainer-")]


def bash(pages):
    def case(key, words):
        return f"    '{key}') echo '{' '.join(words)}' ;;"

    flags = [case(page.name, [flag.name + "=" * (flag.value != "" and not flag.optional and
                                                 flag.name.startswith("--"))
                              for flag in page.flags()]) for page in pages]
    values = [case(f"{page.name} {flag.name}", flag.choices())
              for page in pages for flag in page.flags() if flag.choices()]
    text = BASH.replace("@COMMANDS@", "|".join(commands_of(pages)))
    return text.replace("@FLAGS@", "\n".join(flags)).replace("@VALUES@", "\n".join(values))


# --- zsh ------------------------------------------------------------------------

ZSH = """\
#compdef lwcc lwcc-run
# Completions for lwcc and lwcc-run, made from their --help.
local page=${service:t}
if [[ $page == lwcc && $words[2] == (inspect|machine|plan|profile) ]]; then
  page=lwcc-$words[2]
  shift words
  (( CURRENT-- ))
elif [[ $page == lwcc && $CURRENT == 2 && $PREFIX != -* ]]; then
  compadd inspect machine plan profile
elif [[ $page == lwcc-run ]] && (( ${words[(i)--]} < CURRENT )); then
  page=lwcc-trainer
  shift $(( ${words[(i)--]} - 1 )) words
  (( CURRENT = $#words ))
  if (( CURRENT > 2 )) && [[ $words[2] == (@COMMANDS@) ]]; then
    page+=-$words[2]
    shift words
    (( CURRENT-- ))
  elif [[ $CURRENT == 2 && $PREFIX != -* ]]; then
    compadd @COMMANDS_LIST@
  fi
fi
case $page in
@CASES@
esac
"""


def zsh(pages):
    def spec(flag):
        text = textwrap.shorten(flag.text, 90, placeholder=" ...")
        text = re.sub(r"([\\\[\]])", r"\\\1", text).replace("'", "'\\''")
        if not flag.value:
            return f"'{flag.name}[{text}]'"
        action = f"({' '.join(flag.choices())})" if flag.choices() else \
            "_files -/" if flag.value == "DIR" else \
            "_files" if "FILE" in flag.value or "PATH" in flag.value else " "
        equals = "=-" if flag.optional else "=" if flag.name.startswith("--") else ""
        colon = "::" if flag.optional else ":"
        return f"'{flag.name}{equals}[{text}]{colon}{flag.value}:{action}'"

    cases = []
    for page in pages:
        specs = [spec(flag) for flag in page.flags()]
        if "<" in page.usage:
            specs.append("'*:file:_files'")
        cases.append(f"  {page.name})\n    _arguments \\\n      " +
                     " \\\n      ".join(specs) + "\n    ;;")
    commands = commands_of(pages)
    text = ZSH.replace("@COMMANDS@", "|".join(commands))
    text = text.replace("@COMMANDS_LIST@", " ".join(commands))
    return text.replace("@CASES@", "\n".join(cases))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("folder")
    arguments = parser.parse_args()
    pages = [compiler_page(arguments.bin, command)
             for command in ("lwcc", "lwcc inspect", "lwcc machine", "lwcc plan", "lwcc profile", "lwcc-run")]
    pages += trainer_pages(arguments.bin, arguments.model)
    version = helped([os.path.join(arguments.bin, "lwcc"), "--version"])[0].split()[1]
    files = {"lwcc.bash": bash(pages), "_lwcc": zsh(pages)}
    for page in reversed(pages):
        others = [other for other in pages if other is not page]
        files[page.name + ".1"] = manual(page, version, others)
    os.makedirs(arguments.folder, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(arguments.folder, name), "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
