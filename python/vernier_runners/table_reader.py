"""Unpacks a table of samples: a line of JSON {"table": FILE, "folder": FOLDER} is answered with {"rows": N}, {"missing": PACKAGE} or
{"error": TEXT}. The folder gets samples.jsonl, {"file": …, "label": …} in each line, and the images that the table holds.

Columns: `label` or `text`; and `image`, bytes or {"bytes": …, "path": …} as Hugging Face's data sets have them, or `file`.
"""

import json
import os
import sys

SUFFIXES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"RIFF": ".webp", b"BM": ".bmp", b"II*\0": ".tif", b"MM\0*": ".tif"}


def suffix_of(content):
    for magic, suffix in SUFFIXES.items():
        if content.startswith(magic):
            return suffix
    raise ValueError("a row holds bytes that are no image of a known format")


def unpack(table, folder):
    import pyarrow.parquet

    source = pyarrow.parquet.ParquetFile(table)
    names = source.schema_arrow.names
    known = next((name for name in ("label", "text") if name in names), None)
    data = next((name for name in ("image", "file") if name in names), None)
    if known is None or data is None:
        raise ValueError(f"the columns are {', '.join(names)}; needed are image or file, and label or text")
    count = 0
    with open(os.path.join(folder, "samples.jsonl"), "w", encoding="utf-8") as lines:
        for batch in source.iter_batches(batch_size=64, columns=[data, known]):
            for row in batch.to_pylist():
                file = row[data]
                if data == "image":
                    content = file["bytes"] if isinstance(file, dict) else file
                    file = f"{count:08}{suffix_of(content)}"
                    with open(os.path.join(folder, file), "wb") as image:
                        image.write(content)
                else:
                    file = os.path.join(os.path.dirname(os.path.abspath(table)), file)
                lines.write(json.dumps({"file": file, known: row[known]}) + "\n")
                count += 1
    return count


def main():
    request = json.loads(sys.stdin.readline())
    try:
        answer = {"rows": unpack(request["table"], request["folder"])}
    except ModuleNotFoundError as error:
        answer = {"missing": error.name}
    except Exception as error:  # whatever is wrong with the table
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
    sys.stdin.read()  # until it is no longer needed


if __name__ == "__main__":
    main()
