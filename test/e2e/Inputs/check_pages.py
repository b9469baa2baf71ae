"""check_pages.py PREFIX MODEL: the manual pages and completions of an installed lwcc
name every flag that its programs have, and bash completes them."""
import os
import re
import subprocess
import sys

prefix, model = sys.argv[1:]
folder = os.path.join(prefix, "bin")
bash_file = os.path.join(prefix, "share/bash-completion/completions/lwcc")
with open(os.path.join(prefix, "share/zsh/site-functions/_lwcc")) as file:
    zsh_text = file.read()


def flags_of(*command):
    text = subprocess.run([os.path.join(folder, command[0]), *command[1:]],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    # What is further to the right is text that goes on.
    found = set(re.findall(r"^ {1,6}(--?[a-zA-Z][\w-]*)", text, re.MULTILINE))
    assert len(found) > 5, text
    return found


def completed(*words):
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lwcc; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "-c", script, "bash", bash_file, *words],
                            stdout=subprocess.PIPE, text=True, check=True)
    return result.stdout.split()


pages = [("lwcc", ["lwcc"], ["lwcc", "--help"]),
         ("lwcc-machine", ["lwcc", "machine"], ["lwcc", "machine", "--help"]),
         ("lwcc-inspect", ["lwcc", "inspect"], ["lwcc", "inspect", "--help"]),
         ("lwcc-profile", ["lwcc", "profile"], ["lwcc", "profile", "--help"]),
         ("lwcc-run", ["lwcc-run"], ["lwcc-run", "--help"]),
         ("lwcc-trainer", ["lwcc-run", "m.onnx", "--"],
          ["lwcc-run", model, "--", "--help"]),
         *((f"lwcc-trainer-{command}", ["lwcc-run", "m.onnx", "--", command],
            ["lwcc-run", model, "--", command, "--help"])
           for command in ("evaluate", "predict"))]
count = 0
for page, words, help_command in pages:
    flags = flags_of(*help_command)
    with open(os.path.join(prefix, "share/man/man1", page + ".1")) as file:
        manual = file.read().replace("\\-", "-")
    assert set(re.findall(r"^\.B (--?[\w-]+)", manual, re.MULTILINE)) == flags, page
    assert {word.rstrip("=") for word in completed(*words, "-")} == flags, page
    section = re.search(rf"^  {page}\)\n(.*?)^    ;;", zsh_text, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"^ +'(--?[\w-]*\w)", section[1], re.MULTILINE)) == flags, page
    count += len(flags)
assert completed("lwcc", "--target", "=") == ["cuda", "cpu"]
assert completed("lwcc", "m.onnx", "--target", "=", "cp") == ["cpu"]
assert completed("lwcc", "ma") == ["machine"]
assert completed("lwcc-run", "m.onnx", "--", "pr") == ["predict"]
assert completed("lwcc-run", "m.onnx", "--", "--init", "=", "f") == ["file", "fresh"]
print(count, "flags")
