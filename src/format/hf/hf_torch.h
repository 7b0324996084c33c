/* SPDX-License-Identifier: MIT
 *
 * Weights of a Hugging Face directory that PyTorch or Flax wrote: pytorch_model.bin, or an index and its
 * files, or the adapter_model.bin of PEFT; flax_model.msgpack, or its index and files. */
#ifndef TARE_FORMAT_HF_HF_TORCH_H
#define TARE_FORMAT_HF_HF_TORCH_H

#include "format/hf/hf_folder.h"
#include "format/torch/torch.h"

/* The file that leads to them; NULL: there is none. */
tare_hf_entry *tare_hf_torch_choose(const tare_hf_folder *folder);
/* Opens them: fills the catalog but for resources, and its layout. tare_strided_end is the caller's,
 * after the resources. */
tare_status tare_hf_torch_open(tare_torch_set *set, tare_hf_folder *folder, tare_hf_entry *entry,
                               const tare_open_options *options, tare_error *err);

#endif
