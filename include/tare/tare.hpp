/* SPDX-License-Identifier: MIT
 *
 * tare/tare.hpp: libtare for C++17: what has to be freed frees itself, an error is an exception, and
 * tensors are a range. What it has no function for is called with get(), as from C.
 *
 *     const tare::model model("model.gguf");
 *     for (const tare::tensor t : model) std::cout << t.name() << '\n';
 *     const std::vector<float> rows = model.at("output.weight").rows(0, 2);
 *     tare::convert("model.safetensors", model);
 */
#ifndef TARE_TARE_HPP
#define TARE_TARE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tare/tare.h>

namespace tare {

/* What a call reports; what() is a line as the command prints it. */
class error : public std::runtime_error {
  public:
    error(const tare_error &e, const char *file) : std::runtime_error(text(e, file)), value(e) {}
    tare_status status() const noexcept { return value.status; }
    const tare_error &get() const noexcept { return value; }

  private:
    static std::string text(const tare_error &e, const char *file) {
        char line[1024];
        tare_error_format(line, sizeof line, &e, file);
        return line;
    }
    tare_error value;
};

/* Throws unless the status is OK; `file` is what the call was about, and may be NULL. */
inline void check(tare_status status, const tare_error &e, const char *file = nullptr) {
    if (status != TARE_OK) throw error(e, file);
}

inline std::string_view view(tare_str s) {
    return {s.ptr, s.len};
}
inline tare_str str(std::string_view s) {
    return {s.data(), s.size()};
}

/* A tensor of a model, which must live as long. */
class tensor {
  public:
    tensor(const tare_model *model, std::size_t index)
        : of(model), i(index), info(tare_model_tensor(model, index)) {}
    const tare_tensor *get() const noexcept { return info; }
    std::size_t index() const noexcept { return i; }
    std::string_view name() const { return view(info->name); }
    const char *type() const noexcept { return info->encoding->name; }
    std::uint64_t n_rows() const noexcept { return info->n_rows; }
    std::uint64_t cols() const noexcept { return info->cols; }

    /* Decodes rows [first, first + n). */
    std::vector<float> rows(std::uint64_t first, std::uint64_t n) const {
        if (first > n_rows() || n > n_rows() - first) throw std::out_of_range("tare: rows");
        std::vector<float> out(static_cast<std::size_t>(n * cols()));
        tare_error e;
        check(tare_tensor_rows_f32(out.data(), of, i, first, n, &e), e);
        return out;
    }

    /* Reads the stored bytes of a plane. */
    std::vector<std::uint8_t> plane(std::uint32_t number = 0) const {
        if (number >= info->encoding->n_planes) throw std::out_of_range("tare: plane");
        std::vector<std::uint8_t> out(static_cast<std::size_t>(info->planes[number].size));
        tare_error e;
        check(tare_tensor_read(out.data(), of, i, number, 0, out.size(), &e), e);
        return out;
    }

  private:
    const tare_model *of;
    std::size_t i;
    const tare_tensor *info;
};

/* A model; any number of threads may read it. */
class model {
  public:
    explicit model(const std::string &path, const tare_open_options *options = nullptr) {
        tare_model *opened = nullptr;
        tare_error e;
        check(tare_open_path(&opened, path.c_str(), options, &e), e, path.c_str());
        held.reset(opened);
    }
    /* Takes what a function of C has made. */
    explicit model(tare_model *made) : held(made) {}

    const tare_model *get() const noexcept { return held.get(); }
    const tare_model_summary &summary() const noexcept { return *tare_model_summarize(get()); }
    std::size_t size() const noexcept { return summary().n_tensors; }
    tensor operator[](std::size_t i) const { return {get(), i}; }

    std::optional<tensor> find(std::string_view name) const {
        const std::int64_t i = tare_model_find_tensor(get(), str(name));
        return i < 0 ? std::nullopt
                     : std::optional<tensor>(tensor(get(), static_cast<std::size_t>(i)));
    }
    tensor at(std::string_view name) const {
        if (const auto found = find(name)) return *found;
        throw std::out_of_range("tare: no tensor " + std::string(name));
    }

    class iterator {
      public:
        iterator(const tare_model *m, std::size_t at) : of(m), i(at) {}
        tensor operator*() const { return {of, i}; }
        iterator &operator++() {
            i++;
            return *this;
        }
        bool operator!=(const iterator &other) const noexcept { return i != other.i; }

      private:
        const tare_model *of;
        std::size_t i;
    };
    iterator begin() const { return {get(), 0}; }
    iterator end() const { return {get(), size()}; }

  private:
    struct free_model {
        void operator()(tare_model *m) const { tare_model_free(m); }
    };
    std::unique_ptr<tare_model, free_model> held;
};

inline void convert(const std::string &path, const model &in,
                    const tare_convert_options *options = nullptr) {
    tare_error e;
    check(tare_convert(path.c_str(), in.get(), options, &e), e, path.c_str());
}

inline void quantize(const std::string &path, const model &in, std::string_view mix,
                     const tare_convert_options *options = nullptr) {
    tare_error e;
    check(tare_quantize(path.c_str(), in.get(), str(mix), options, &e), e, path.c_str());
}

inline tare_pack_summary pack(const std::string &path, const model &in,
                              const tare_pack_options *options = nullptr) {
    tare_error e;
    tare_pack_summary out = tare_pack_summary_default();
    check(tare_pack(&out, path.c_str(), in.get(), options, &e), e, path.c_str());
    return out;
}

inline tare_unpack_result unpack(const std::string &path, const std::string &packed,
                                 const tare_unpack_options *options = nullptr) {
    tare_error e;
    tare_unpack_result out = tare_unpack_result_default();
    tare_source source = tare_source_default();
    source.name = packed.c_str();
    check(tare_unpack(&out, path.c_str(), &source, options, &e), e, packed.c_str());
    return out;
}

} // namespace tare

#endif
