# SPDX-License-Identifier: MIT
# Homebrew: the archives of `make dist`, which need nothing else. scripts/recipes fills in what stands between @.
class Tare < Formula
  desc "Open, convert, quantize and pack the files of machine-learning models"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@URL@/@ARCHIVE aarch64-macos@"
      sha256 "@SHA256 aarch64-macos@"
    end
    on_intel do
      url "@URL@/@ARCHIVE x86_64-macos@"
      sha256 "@SHA256 x86_64-macos@"
    end
  end
  on_linux do
    on_arm do
      url "@URL@/@ARCHIVE aarch64-linux@"
      sha256 "@SHA256 aarch64-linux@"
    end
    on_intel do
      url "@URL@/@ARCHIVE x86_64-linux@"
      sha256 "@SHA256 x86_64-linux@"
    end
  end

  def install
    bin.install "tare"
    man1.install Dir["share/man1/*"]
    bash_completion.install Dir["share/bash/*"]
    fish_completion.install Dir["share/fish/*"]
    zsh_completion.install Dir["share/zsh/*"]
    doc.install "README.md", "licenses"
  end

  test do
    system bin/"tare", "synth", "llama-tiny", "model.gguf", "--quiet"
    system bin/"tare", "pack", "model.gguf", "model.wcodec", "--quiet"
    system bin/"tare", "unpack", "model.wcodec", "again.gguf", "--quiet"
    assert_equal File.binread("model.gguf"), File.binread("again.gguf")
  end
end
