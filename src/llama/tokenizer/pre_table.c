/* SPDX-License-Identifier: MIT
 *
 * The splittings of llama.cpp as pre_tokenizers have them, and the names it knows them by
 * (llama-vocab.cpp). Patterns are written in any form: both sides are normalized before they are
 * compared. A row more is a model family more. */
#include "base/str.h"
#include "llama/tokenizer/pre.h"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORD         "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define TAIL         " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2         "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
/* Words by the case of their letters, and what may follow one. */
#define CASED(rest)                                                                                \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"     \
    "+" rest "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}"  \
    "\\p{M}]*" rest
#define CASED_TAIL " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CJK        "[一-龥぀-ゟ゠-ヿ]+"
/* clang-format finds no width for these characters that it agrees with. */
/* clang-format off */
static const char latin_to_greek[] =
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-"
    "ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-"
    "ⳮⲳⲳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-"
    "𑣟𞤀-𞥃]+";
/* clang-format on */

static const tare_llama_splitting splittings[] = {
    {"llama3", {CONTRACTIONS "|" WORD "|\\p{N}{1,3}|" TAIL}},
    {"jais2",
     {CONTRACTIONS "|" WORD "|\\p{N}{1,3}| "
                   "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?"
                   "!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|"
                   "\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"}},
    {"qwen2", {CONTRACTIONS "|" WORD "|\\p{N}|" TAIL}},
    {"laguna", {"[^\\n]+|[\\n]+", CONTRACTIONS "|" WORD "|\\p{N}|" TAIL}},
    {"ufakzeka", {WORD "|\\p{N}|" TAIL}},
    {"qwen35",
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
                   "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"seed",
     {CONTRACTIONS "|" WORD "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"bailing",
     {CONTRACTIONS "|" WORD
                   "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {"gpt4o", {CASED(CONTRACTIONS "?") "|\\p{N}{1,3}|" CASED_TAIL}},
    {"tekken", {CASED("") "|\\p{N}|" CASED_TAIL}},
    {"youtu",
     {"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|" CJK,
      CASED(CONTRACTIONS "?") "|\\p{N}|" CASED_TAIL}},
    {"tiny-aya",
     {"\\d{1,3}(?=(?:\\d{3})*\\b)", CASED(CONTRACTIONS "?") "|\\p{N}{1,3}|" CASED_TAIL}},
    {"gpt2", {GPT2}},
    {"digits", {"\\p{N}", GPT2}},
    {"falcon", {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {"bloom", {" ?[^(\\s|[.,!?…。，、।۔،])]+"}},
    {"viking", {" ?[^(\\s|[.,!?…。，、।۔،])]+", "\\p{N}"}},
    {"deepseek-llm",
     {"[\\r\\n]", latin_to_greek, "\\s?[!-/:-~！-／：-～‘-‟　-。]+", "\\s+$",
      "[一-龥ࠀ-一가-퟿]+", "\\p{N}"}},
    {"deepseek-coder",
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+", "\\p{N}"}},
    {"deepseek3",
     {"\\p{N}{1,3}", CJK,
      "[!\"#$%&'()*+,\\-./"
      ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
      "?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"spark",
     {"\\p{N}{1,3}", CJK,
      "[!\"#$%&'()*+,\\-./"
      ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
      "?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+",
      "\\p{N}"}},
    {"minicpm5", {"\\p{N}{1,3}", CONTRACTIONS "|" WORD "|\\p{N}+|" TAIL}},
    {"superbpe", {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}},
    {"exaone-moe",
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| "
                   "?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {"chameleon",
     {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", "\\p{N}",
      "[\\p{P}!-/:-@\\[-`{-~]", GPT2}},
};

/* name, splitting, ignores merges, adds BOS, keeps blanks. The first name of a splitting with a
 * model's flags is the one it gets; names without a splitting are chosen by hand. */
static const tare_llama_pre names[] = {
    {"llama-bpe", "llama3", true, true, false},
    {"llama3", "llama3", true, true, false},
    {"llama-v3", "llama3", true, true, false},
    {"falcon3", "llama3", true, true, false},
    {"falcon-h1", "llama3", true, true, false},
    {"pixtral", "llama3", true, true, false},
    {"midm-2.0", "llama3", true, true, false},
    {"lfm2", "llama3", true, true, false},
    {"jina-v5-nano", "llama3", true, true, false},
    {"dbrx", "llama3", false, false, false},
    {"smaug-bpe", "llama3", false, false, false},
    {"glm4", "llama3", false, false, false},
    {"chatglm-bpe", "llama3", false, false, false},
    {"jais-2", "jais2", false, false, false},
    {"qwen2", "qwen2", false, false, true},
    {"deepseek-r1-qwen", "qwen2", false, false, true},
    {"kormo", "qwen2", false, false, true},
    {"f2llmv2", "qwen2", false, false, true},
    {"hunyuan", "qwen2", false, false, true},
    {"solar-open", "qwen2", false, false, true},
    {"grok-2", "qwen2", false, false, true},
    {"stablelm2", "qwen2", false, false, false},
    {"megrez", "qwen2", false, false, false},
    {"laguna", "laguna", false, false, true},
    {"ufakzeka", "ufakzeka", false, false, true},
    {"qwen35", "qwen35", false, false, true},
    {"seed-coder", "seed", false, false, true},
    {"bailingmoe", "bailing", false, false, true},
    {"bailingmoe2", "bailing", false, false, true},
    {"llada-moe", "bailing", false, false, true},
    {"gpt-4o", "gpt4o", false, false, true},
    {"llama4", "gpt4o", false, false, true},
    {"kanana2", "gpt4o", false, false, true},
    {"talkie", "gpt4o", false, false, true},
    {"minimax-m2", "gpt4o", false, false, true},
    {"granite-embed-multi-97m", "gpt4o", true, false, true},
    {"tekken", "tekken", true, true, true},
    {"youtu", "youtu", true, false, true},
    {"tiny_aya", "tiny-aya", false, false, true},
    {"cohere2moe", "tiny-aya", false, false, true},
    {"gpt-2", "gpt2", false, false, false},
    {"phi-2", "gpt2", false, false, false},
    {"jina-es", "gpt2", false, false, false},
    {"jina-de", "gpt2", false, false, false},
    {"gigachat", "gpt2", false, false, false},
    {"jina-v2-es", "gpt2", false, false, false},
    {"jina-v2-de", "gpt2", false, false, false},
    {"a.x-4.0", "gpt2", false, false, false},
    {"mellum", "gpt2", false, false, false},
    {"modern-bert", "gpt2", false, false, false},
    {"mpt", "gpt2", false, false, false},
    {"olmo", "gpt2", false, false, false},
    {"jais", "gpt2", false, false, false},
    {"exaone4", "gpt2", false, false, false},
    {"roberta-bpe", "gpt2", false, false, false},
    {"jina-v1-en", "gpt2", false, false, false},
    {"jina-v2-code", "gpt2", false, false, false},
    {"trillion", "gpt2", false, false, true},
    {"granite-docling", "gpt2", false, false, true},
    {"starcoder", "digits", false, false, false},
    {"refact", "digits", false, false, false},
    {"codeshell", "digits", false, false, false},
    {"exaone", "digits", false, false, false},
    {"minerva-7b", "digits", false, false, false},
    {"mellum2", "digits", false, false, false},
    {"smollm", "digits", false, false, true},
    {"command-r", "digits", false, false, true},
    {"falcon", "falcon", false, false, false},
    {"bloom", "bloom", false, false, false},
    {"gpt3-finnish", "bloom", false, false, false},
    {"poro-chat", "bloom", false, false, true},
    {"viking", "viking", false, false, true},
    {"deepseek-llm", "deepseek-llm", false, false, true},
    {"deepseek-coder", "deepseek-coder", false, false, true},
    {"deepseek-v3", "deepseek3", false, false, true},
    {"hunyuan-dense", "deepseek3", false, false, true},
    {"joyai-llm", "deepseek3", false, false, true},
    {"hy_v4", "deepseek3", false, false, true},
    {"spark2_5", "spark", false, false, true},
    {"minicpm5", "minicpm5", true, false, false},
    {"superbpe", "superbpe", false, false, true},
    {"exaone-moe", "exaone-moe", false, false, true},
    {"chameleon", "chameleon", false, true, true},
    {"kimi-k2", "", false, false, true},
    {"afmoe", "", false, false, true},
    {"sarvam-moe", "", false, false, true},
    {"gemma4", "", false, false, false},
    {"granite-embed-multi-311m", "", false, false, false},
    {"whitespace", "", false, false, false},
    {"default", "", false, false, false},
};

/* Which name llama.cpp's converter gives, where several split alike. Classes by their beginning,
 * the first row that fits. */
static const tare_llama_tie ties[] = {
    {"llama3", "Glm", NULL, 0, "glm4"},
    {"llama3", "ChatGLM", NULL, 0, "chatglm-bpe"},
    {"llama3", "Lfm2", NULL, 0, "lfm2"},
    {"llama3", "FalconH1", NULL, 0, "falcon-h1"},
    {"llama3", "LlamaForCausalLM", NULL, 131072, "falcon3"},
    {"qwen2", "Qwen2ForCausalLM", "LlamaTokenizer", 0, "deepseek-r1-qwen"},
    {"qwen2", "StableLm", NULL, 0, "stablelm2"},
    {"qwen2", "KORMo", NULL, 0, "kormo"},
    {"qwen2", "HunYuan", NULL, 0, "hunyuan"},
    {"qwen2", "SolarOpen", NULL, 0, "solar-open"},
    {"qwen2", "Grok1", NULL, 0, "grok-2"},
    {"bailing", "BailingMoeV2", NULL, 0, "bailingmoe2"},
    {"bailing", "LLaDAMoE", NULL, 0, "llada-moe"},
    {"gpt4o", "Llama4", NULL, 0, "llama4"},
    {"gpt4o", "MiniMaxM2", NULL, 0, "minimax-m2"},
    {"tiny-aya", "Cohere2Moe", NULL, 0, "cohere2moe"},
    {"gpt2", "Roberta", NULL, 0, "roberta-bpe"},
    {"gpt2", "Xlm", NULL, 0, "roberta-bpe"},
    {"gpt2", "ModernBert", NULL, 0, "modern-bert"},
    {"gpt2", "Olmo", NULL, 0, "olmo"},
    {"gpt2", "GPTNeoX", NULL, 0, "olmo"},
    {"gpt2", "MPT", NULL, 0, "mpt"},
    {"gpt2", "JAIS", NULL, 0, "jais"},
    {"gpt2", "Mamba", NULL, 0, "olmo"},
    {"gpt2", "StableLm", NULL, 0, "olmo"},
    {"gpt2", "Exaone4", NULL, 0, "exaone4"},
    {"gpt2", "JinaBert", "RobertaTokenizer", 0, "jina-v2-code"},
    {"digits", "Cohere", NULL, 0, "command-r"},
    {"digits", "CodeShell", NULL, 0, "codeshell"},
    {"digits", "Exaone", NULL, 0, "exaone"},
    {"digits", "Granite", NULL, 0, "refact"},
    {"digits", "GPTRefact", NULL, 0, "refact"},
    {"digits", "Mistral", NULL, 0, "minerva-7b"},
    {"deepseek3", "HunYuanDense", NULL, 0, "hunyuan-dense"},
};

/* vocab.json and merges.txt alone do not say how a text is split: the class does. */
static const tare_llama_slow_class slow_classes[] = {
    {"GPT2Tokenizer", "gpt-2", {"<|endoftext|>"}},
    {"GPTNeoXTokenizer", "olmo", {"<|endoftext|>"}},
    {"CodeGenTokenizer", "gpt-2", {"<|endoftext|>"}},
    {"RobertaTokenizer", "roberta-bpe", {"<s>", "</s>", "<unk>", "<pad>", "<mask>"}},
    {"BartTokenizer", "roberta-bpe", {"<s>", "</s>", "<unk>", "<pad>", "<mask>"}},
    {"LongformerTokenizer", "roberta-bpe", {"<s>", "</s>", "<unk>", "<pad>", "<mask>"}},
    {"Qwen2Tokenizer", "qwen2", {"<|endoftext|>"}},
};

#define ROW(table, i) ((i) < sizeof(table) / sizeof *(table) ? &(table)[i] : NULL)

const tare_llama_splitting *tare_llama_splitting_row(size_t i) {
    return ROW(splittings, i);
}

const tare_llama_pre *tare_llama_pre_row(size_t i) {
    return ROW(names, i);
}

const tare_llama_tie *tare_llama_tie_row(size_t i) {
    return ROW(ties, i);
}

const tare_llama_pre *tare_llama_pre_find(tare_str name) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tare_str_is(name, names[i].name)) return &names[i];
    return NULL;
}

/* A class or its fast twin, "GPT2TokenizerFast". */
const tare_llama_slow_class *tare_llama_slow_class_find(tare_str tokenizer_class) {
    for (size_t i = 0; i < sizeof slow_classes / sizeof *slow_classes; i++)
        if (tare_str_starts(tokenizer_class, tare_str_of(slow_classes[i].tokenizer_class)))
            return &slow_classes[i];
    return NULL;
}

bool tare_llama_pre_is_known(tare_str name) {
    return tare_llama_pre_find(name) != NULL;
}

/* The name that stands behind `last` in the alphabet. */
static const char *name_behind(const char *last) {
    const char *next = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((!last || strcmp(names[i].name, last) > 0) &&
            (!next || strcmp(names[i].name, next) < 0))
            next = names[i].name;
    return next;
}

const char *tare_llama_pre_name(size_t i) {
    const char *name = name_behind(NULL);
    while (name && i-- > 0) name = name_behind(name);
    return name;
}
