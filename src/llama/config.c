/* SPDX-License-Identifier: MIT
 *
 * config.json with the text model's part laid over it. */
#include "llama/config.h"

#include "base/str.h"
#include "llama/class_defaults.h"

tare_status tare_llama_config_read(tare_llama_config *out, const tare_model *model,
                                   tare_arena *arena, tare_error *err) {
    static const char *const places[] = {"text_config",
                                         "llm_config",
                                         "lm_config",
                                         "language_config",
                                         "lfm",
                                         "thinker_config.text_config",
                                         "transformer_layer_config"};
    *out = (tare_llama_config){.arena = arena};
    TARE_TRY(tare_model_json(&out->root, model, "config.json", arena, err));
    if (!out->root) return tare_fail(err, TARE_ERR_UNSUPPORTED, "the model has no config.json");
    for (size_t i = 0; i < sizeof places / sizeof *places && !out->text; i++) {
        const tare_json_node *node = tare_json_path(out->root, tare_str_of(places[i]));
        if (node && node->type == TARE_JSON_OBJECT) out->text = node;
    }
    tare_llama_config_set_class(out);
    return TARE_OK;
}

void tare_llama_config_set_class(tare_llama_config *config) {
    const tare_str name = TARE_STR("model_type");
    const tare_json_node *text = tare_json_member(config->text, name);
    config->class_members =
        tare_llama_class_members(tare_json_node_text(tare_json_member(config->root, name)));
    if (config->class_members && text)
        config->class_members = tare_llama_class_members(tare_json_node_text(text));
}

bool tare_llama_config_names(const tare_llama_config *config, tare_str name) {
    return tare_json_names(config->text, name) || tare_json_names(config->root, name);
}

bool tare_llama_config_is_replaced(const tare_json_node *place) {
    const tare_json_node *older = tare_json_member(place, TARE_STR("rope_scaling"));
    return older && older->type == TARE_JSON_OBJECT && older->n > 0;
}

const tare_json_node *tare_llama_config_find(const tare_llama_config *config, tare_str path) {
    const bool is_of_rope = tare_str_starts(path, TARE_STR("rope_parameters"));
    const tare_str processor = TARE_STR("processor."), target = TARE_STR("target.");
    if (config->target && tare_str_starts(path, target))
        return tare_llama_config_find(config->target, tare_str_cut(path, target.len));
    if (tare_str_starts(path, processor)) {
        const tare_json_node *found = NULL;
        for (size_t i = 0; i < sizeof config->processor / sizeof *config->processor && !found; i++)
            found = tare_json_path(config->processor[i], tare_str_cut(path, processor.len));
        return found;
    }
    const tare_json_node *const places[] = {
        config->text, config->root, tare_json_member(config->root, TARE_STR("thinker_config"))};
    const tare_json_node *found = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++)
        if (!is_of_rope || !tare_llama_config_is_replaced(places[i]))
            found = tare_json_path(places[i], path);
    return found;
}
