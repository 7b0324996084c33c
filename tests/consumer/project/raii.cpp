/* SPDX-License-Identifier: MIT
 *
 * The example of docs/tasks/c.md with tare.hpp, and a way there and back: it must print the same. */
#include <cstdio>
#include <cstdlib>
#include <string>

#include <tare/tare.hpp>

static void there_and_back(const tare::model &model) {
    const std::string folder = std::getenv("RAII_FOLDER");
    const std::string converted = folder + "/raii.gguf", packed = folder + "/raii.wcodec";
    tare::convert(converted, model);
    tare::pack(packed, tare::model(converted));
    const tare::model again(packed);
    std::size_t n = 0;
    for (const tare::tensor t : again) n += t.plane() == model.at(t.name()).plane();
    if (n != model.size() || n == 0) throw std::runtime_error("the way back");
    const tare_unpack_result result = tare::unpack(folder + "/again.gguf", packed);
    if (result.n_files != 1) throw std::runtime_error("unpacked");
    tare::quantize(folder + "/q.gguf", model, "Q4_0");
    try {
        tare::model(folder + "/nothing.gguf");
        throw std::runtime_error("a file that is not there was opened");
    } catch (const tare::error &e) {
        if (e.status() != TARE_ERR_IO) throw;
    }
    if (model.find("nothing")) throw std::runtime_error("found nothing");
}

int main(int argc, char **argv) try {
    if (argc != 4) return 2;
    const tare::model model(argv[1]);
    const auto r = std::strtoull(argv[3], nullptr, 10);
    const tare::tensor t = model.at(argv[2]);
    const std::vector<float> row = t.rows(r, 1);
    there_and_back(model);
    std::printf("%s, row %u of %u:", t.type(), (unsigned)r, (unsigned)t.n_rows());
    for (std::size_t c = 0; c < row.size() && c < 4; c++) std::printf(" %.5f", row[c]);
    std::printf("\n");
    return 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "raii: %s\n", e.what());
    return 1;
}
