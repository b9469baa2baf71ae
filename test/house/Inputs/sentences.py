"""Finds sentences that are too long to be read at once.

  sentences.py WORDS FILE.md ...

Prints every sentence of more than WORDS words, with its file and line. Code
blocks, comments, pictures and web addresses do not count; a word in `code` does. A
table's cell and a list's item end a sentence, a colon does not.
"""

import re
import sys


def paragraphs(text):
    """(line number, text) of every paragraph, list item and table cell."""
    code = comment = False
    start, words = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
            line = ""
        comment = comment or line.startswith("<!--")
        hidden, comment = code or comment, comment and "-->" not in line
        line = "" if hidden else line
        row = line.startswith("|")
        begins = re.match(r"\s*([-*]|\d+\.)\s|#|\|", line)
        if words and (begins or not line.strip()):
            yield start, " ".join(words)
            words = []
        if row:
            for cell in line.strip("|").split("|"):
                yield number, cell
        elif line.strip():
            start = start if words else number
            words.append(line.strip())
    if words:
        yield start, " ".join(words)


def sentences(paragraph):
    paragraph = re.sub(r"!\[.*?\]\(.*?\)", "", paragraph)
    paragraph = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", paragraph)
    paragraph = re.sub(r"`[^`]*`", "code", paragraph)
    return re.split(r"(?<=[.!?])\)?\s+", paragraph)


def main():
    limit, found = int(sys.argv[1]), 0
    for path in sys.argv[2:]:
        with open(path) as file:
            text = file.read()
        for line, paragraph in paragraphs(text):
            for sentence in sentences(paragraph):
                count = len(re.findall(r"\w[\w'.,/-]*", sentence))
                if count > limit:
                    found += 1
                    print(f"{path}:{line}: {count} words: {sentence}")
    print(f"{found} sentences of more than {limit} words")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
