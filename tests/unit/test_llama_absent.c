/* SPDX-License-Identifier: MIT
 *
 * Guards against: a build without what knows llama.cpp (TARE_LLAMA=OFF) that does not link, or that
 * writes a Hugging Face model into a GGUF file under names that nothing runs, without a word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <tare/private/synth.h>
#include <tare/tare.h>

#include "unit/temp_folder.h"

static tare_model *open_temp(const char *name) {
    tare_error err;
    tare_model *m;
    if (tare_open_path(&m, temp_path(name), NULL, &err)) fail_msg("%s: %s", name, err.what);
    return m;
}

static void names_are_kept_or_refused(void **state) {
    (void)state;
    tare_llama_translate_options keep = tare_llama_translate_options_default();
    tare_convert_options o = tare_convert_options_default();
    tare_error err;
    tare_model *synth;
    o.to = "hf";
    assert_int_equal(tare_synth_open(&synth, "llama-tiny", NULL, &err), TARE_OK);
    assert_int_equal(tare_convert(temp_path("hf"), synth, &o, &err), TARE_OK);
    tare_model *hf = open_temp("hf");
    assert_int_equal(tare_convert(temp_path("m.gguf"), hf, NULL, &err), TARE_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.what, "TARE_LLAMA=OFF"));
    keep.keep_names = true;
    o.to = "gguf";
    o.names = &keep;
    assert_int_equal(tare_convert(temp_path("m.gguf"), hf, &o, &err), TARE_OK);
    tare_model *gguf = open_temp("m.gguf");
    assert_true(tare_model_find_tensor(gguf, (tare_str){"model.norm.weight", 17}) >= 0);
    assert_false(tare_llama_can_run(gguf, &err));
    tare_model_free(gguf);
    tare_model_free(hf);
    tare_model_free(synth);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_kept_or_refused, make_temp_folder,
                                        remove_temp_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
