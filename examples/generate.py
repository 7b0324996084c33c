#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""generate.py MODEL [TEXT]: loads a packed model into transformers and continues a text.

MODEL is a .wcodec of a Hugging Face directory (`tare pack DIRECTORY model.wcodec`), or any other
model that tare opens and that has config.json and the tokenizer. Needs torch and transformers.
"""
import sys

from tare.integrations.transformers import from_pretrained, tokenizer_of


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path, text = sys.argv[1], " ".join(sys.argv[2:]) or "Once upon a time"
    model = from_pretrained(path, dtype="auto")
    tokenizer = tokenizer_of(path)
    inputs = tokenizer(text, return_tensors="pt")
    output = model.generate(**inputs, max_new_tokens=40, do_sample=False)
    print(tokenizer.decode(output[0], skip_special_tokens=True))


main()
