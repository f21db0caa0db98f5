#include "compiler/ir/machine_watch.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tf::ir::machine {
namespace {

std::string name_of(const ThreadId& thread) {
  return absl::StrCat("thread (", thread.x, ", ", thread.y, ", ", thread.z, ")");
}

std::string element_of(const Site& site, int64_t offset) {
  return absl::StrCat(site.buffer->name, "[", offset, "]");
}

void fail(Machine& m, const Site& site, const std::string& what) {
  m.run->fail(absl::FailedPreconditionError(absl::StrCat(what, place_of(m, site))));
}

void fail_race(Machine& m, const Site& site, int64_t offset, const char* now, const ThreadId& other,
               const char* before, bool is_block) {
  fail(m, site,
       absl::StrCat("race: ", name_of(m.thread), " ", now, " element ", element_of(site, offset), ", which ",
                    name_of(other), is_block ? " of another block of the launch " : " ", before,
                    is_block ? "" : " with no barrier in between"));
}

void fail_in_flight(Machine& m, const Site& site, int64_t offset, const char* now) {
  fail(m, site,
       absl::StrCat(name_of(m.thread), " ", now, " element ", element_of(site, offset),
                    ", which an asynchronous copy still moves: wait for it first"));
}

void fail_product(Machine& m, const Site& site, int64_t offset, const char* now, const char* what) {
  fail(m, site,
       absl::StrCat(name_of(m.thread), " ", now, " element ", element_of(site, offset),
                    ", which a matrix statement still ", what, ": wait for it first"));
}

bool is_race_with_write(Machine& m, const Site& site, const Cell& cell, int64_t offset, const char* now) {
  const Watch& watch = *m.run->watch;
  const bool other_block = cell.write_block >= watch.launch && cell.write_block != watch.block;
  if (!other_block && (cell.write_epoch != watch.epoch || cell.writer == m.thread)) return false;
  fail_race(m, site, offset, now, cell.writer, "wrote", other_block);
  return true;
}

std::span<SharedByte> bytes_of(Machine& m, const Site& site, const BufferState& buffer, int64_t offset) {
  const int64_t size = tensor::element_bytes(site.buffer->element);
  return std::span(m.run->watch->bytes)
      .subspan(static_cast<size_t>(buffer.shadow->first_byte + offset * size), static_cast<size_t>(size));
}

// Of a write where buffers share bytes.
bool takes_bytes(Machine& m, const Site& site, const BufferState& buffer, int64_t offset) {
  for (SharedByte& byte : bytes_of(m, site, buffer, offset)) {
    if (byte.owner != nullptr && byte.owner != buffer.shadow && byte.epoch == m.run->watch->epoch) {
      fail(m, site,
           absl::StrCat(name_of(m.thread), " writes element ", element_of(site, offset),
                        " over another buffer that was in use, with no barrier in between"));
      return false;
    }
    byte = {buffer.shadow, m.run->watch->epoch};
  }
  return true;
}

// Of a read: whether the element is still there.
bool has_bytes(Machine& m, const Site& site, const BufferState& buffer, int64_t offset) {
  bool all = true;
  for (SharedByte& byte : bytes_of(m, site, buffer, offset)) {
    all = all && byte.owner == buffer.shadow;
    byte.epoch = m.run->watch->epoch;
  }
  return all;
}

void note_write(Machine& m, const Site& site, const BufferState& buffer, int64_t offset, const char* now,
                bool is_defined) {
  Cell& cell = buffer.shadow->cells[static_cast<size_t>(offset)];
  cell.is_defined = is_defined;
  cell.is_touched = true;
  cell.write_count = m.run->watch->publications;
  cell.is_published = false;
  if (buffer.shadow->first_byte >= 0 && !takes_bytes(m, site, buffer, offset)) return;
  if (!is_defined && buffer.shadow->is_param)
    return fail(
        m, site,
        absl::StrCat(name_of(m.thread), " writes a value that is made of what nobody wrote to element ",
                     element_of(site, offset)));
  if (!buffer.shadow->is_shared) return;
  const Watch& watch = *m.run->watch;
  if (is_race_with_write(m, site, cell, offset, now)) return;
  if (cell.first_read_block >= watch.launch && cell.first_read_block != watch.block)
    return fail_race(m, site, offset, now, cell.readers[0], "read", true);
  if (cell.read_epoch == watch.epoch)
    for (const ThreadId& reader : cell.readers)
      if (reader != m.thread) return fail_race(m, site, offset, now, reader, "read", false);
  cell.write_block = watch.block;
  cell.write_epoch = watch.epoch;
  cell.writer = m.thread;
}

void note_read(Machine& m, const Site& site, const BufferState& buffer, int64_t offset) {
  if (!buffer.shadow->is_shared) return;
  Cell& cell = buffer.shadow->cells[static_cast<size_t>(offset)];
  const Watch& watch = *m.run->watch;
  if (is_race_with_write(m, site, cell, offset, "reads")) return;
  if (cell.first_read_block < watch.launch) cell.first_read_block = watch.block;
  if (cell.read_epoch != watch.epoch)
    cell.readers[0] = cell.readers[1] = m.thread;
  else if (cell.readers[0] != m.thread)
    cell.readers[1] = m.thread;
  cell.read_epoch = watch.epoch;
}

// Whether what lane `lane` of `lanes` is made of is undefined: its own lane, all lanes of a scalar's or a shared group, or the
// lanes that are folded into it.
bool any_undefined(const Machine& m, const Flow::Values& from, int32_t lane, int32_t lanes) {
  int32_t first = 0, last = from.lanes;
  if (from.lanes >= lanes) {
    first = lane * (from.lanes / lanes);
    last = first + from.lanes / lanes;
  }
  for (int32_t l = first; l < last; ++l)
    if (m.undefined[static_cast<size_t>(from.slot + l * from.lane_bytes)] != 0) return true;
  return false;
}

// Before the instruction runs: the condition of a select is still there.
void follow(Machine& m, const Flow& flow) {
  const int32_t lanes = flow.target.lanes;
  std::vector<uint8_t> undefined(static_cast<size_t>(lanes), 0);
  for (int32_t l = 0; l < lanes; ++l) {
    uint8_t& lane = undefined[static_cast<size_t>(l)];
    for (int o = 0; o < 3; ++o) {
      const Flow::Values& from = flow.operands[o];
      // Of a select, the side that is not taken does not count.
      const bool counts =
          !flow.is_select || o == 0 || (m.at<uint8_t>(flow.operands[0].slot)[l] != 0) == (o == 1);
      if (from.slot >= 0 && counts && any_undefined(m, from, l, lanes)) lane = 1;
    }
  }
  for (int32_t l = 0; l < lanes; ++l)
    m.undefined[static_cast<size_t>(flow.target.slot + l * flow.target.lane_bytes)] =
        undefined[static_cast<size_t>(l)];
}

void land(const Copy& copy) {
  std::memcpy(copy.to.data + copy.first * copy.element_bytes, copy.bytes.data(), copy.bytes.size());
}

void finish(Machine& m, const Copy& copy) {
  if (copy.from != nullptr && std::memcmp(copy.from, copy.bytes.data(), copy.bytes.size()) != 0)
    return fail(m, *copy.site, "the source of an asynchronous copy was overwritten before the copy arrived");
  if (m.run->watch->copies_land_late) land(copy);
  for (int64_t i = copy.first; i < copy.first + copy.elements; ++i) {
    copy.to.shadow->cells[static_cast<size_t>(i)].is_in_flight = false;
    note_write(m, *copy.site, copy.to, i, "copied", copy.defined[static_cast<size_t>(i - copy.first)]);
    copy.to.shadow->cells[static_cast<size_t>(i)].is_published = copy.is_published;
  }
  copy.to.shadow->in_flight -= copy.elements;
}

}  // namespace

std::string place_of(Machine& m, const Site& site) {
  std::string at;
  for (const auto& [var, slot] : site.scope)
    absl::StrAppend(&at, at.empty() ? " at " : ", ", var->name, "=", *m.at<int64_t>(slot));
  return at;
}

bool watch_read(Machine& m, const Site& site, const BufferState& buffer, int64_t offset) {
  Cell& cell = buffer.shadow->cells[static_cast<size_t>(offset)];
  cell.is_touched = true;
  if (cell.products > 0 && !buffer.shadow->is_shared) fail_product(m, site, offset, "reads", "computes");
  if (cell.is_in_flight)
    fail_in_flight(m, site, offset, "reads");
  else
    note_read(m, site, buffer, offset);
  return cell.is_defined && (buffer.shadow->first_byte < 0 || has_bytes(m, site, buffer, offset));
}

void watch_write(Machine& m, const Site& site, const BufferState& buffer, int64_t offset, bool is_defined) {
  const Cell& cell = buffer.shadow->cells[static_cast<size_t>(offset)];
  if (cell.is_in_flight) return fail_in_flight(m, site, offset, "writes");
  if (cell.products > 0)
    return fail_product(m, site, offset, "writes", buffer.shadow->is_shared ? "reads" : "computes");
  note_write(m, site, buffer, offset, "writes", is_defined);
}

bool check_indices(Machine& m, const Site& site, int32_t lane) {
  for (size_t d = 0; d < site.indices.size(); ++d) {
    if (m.undefined[static_cast<size_t>(site.indices[d] + (site.moves[d] != 0 ? lane * 8 : 0))] == 0)
      continue;
    fail(
        m, site,
        absl::StrCat(name_of(m.thread), " takes an index of ", site.buffer->name, " from what nobody wrote"));
    return false;
  }
  return true;
}

bool check_predicate(Machine& m, const Site& site, int32_t mask, int32_t lane) {
  if (mask < 0 || m.undefined[static_cast<size_t>(mask + lane)] == 0) return true;
  fail(m, site,
       absl::StrCat(name_of(m.thread), " decides whether to write to ", site.buffer->name,
                    " by what nobody wrote"));
  return false;
}

bool check_decision(Machine& m, const Node& node) {
  const auto is_undefined = [&](int32_t slot) { return m.undefined[static_cast<size_t>(slot)] != 0; };
  const bool is_loop = node.kind == StmtKind::kFor;
  if (!is_loop && node.kind != StmtKind::kIf) return true;
  if (!is_undefined(node.a) && (!is_loop || !is_undefined(node.b))) return true;
  m.run->fail(absl::FailedPreconditionError(absl::StrCat(
      name_of(m.thread), is_loop ? " runs a loop" : " takes a branch", " by what nobody wrote")));
  return false;
}

void Machine::execute_watched(const Code& code) {
  for (int32_t n = code.begin; n < code.end && !run->failed; ++n) {
    const Instruction& i = run->program->code[static_cast<size_t>(n)];
    const Flow& flow = run->program->flows[static_cast<size_t>(n)];
    if (flow.target.slot >= 0) follow(*this, flow);
    i.run(*this, i);
  }
}

void begin_copy(Machine& m, const Site& target, const Site& source, int64_t to,
                const BufferState* source_buffer, int64_t from, int64_t elements, bool is_published) {
  const int64_t size = tensor::element_bytes(target.buffer->element);
  Copy copy{.site = &target,
            .to = m.buffers[static_cast<size_t>(target.buffer_slot)],
            .first = to,
            .elements = elements,
            .element_bytes = size,
            .from = nullptr,
            .bytes = std::vector<std::byte>(static_cast<size_t>(elements * size)),
            .defined = std::vector<bool>(static_cast<size_t>(elements), true),
            .is_published = is_published};
  if (source_buffer != nullptr) {
    for (int64_t i = 0; i < elements; ++i)
      copy.defined[static_cast<size_t>(i)] = watch_read(m, source, *source_buffer, from + i);
    copy.from = source_buffer->data + from * size;
    std::memcpy(copy.bytes.data(), copy.from, copy.bytes.size());
  }
  for (int64_t i = to; i < to + elements; ++i) {
    watch_write(m, target, copy.to, i, true);
    copy.to.shadow->cells[static_cast<size_t>(i)].is_in_flight = true;
  }
  if (m.run->failed) return;
  copy.to.shadow->in_flight += elements;
  if (m.run->watch->copies_land_late)
    std::memset(copy.to.data + to * size, 0xff, copy.bytes.size());
  else
    land(copy);
  if (m.copies.empty()) m.copies.emplace_back();
  m.copies.back().push_back(std::move(copy));
}

bool watch_sum(Machine& m, const Site& site, const BufferState& buffer, int64_t offset, Product& product) {
  Cell& cell = buffer.shadow->cells[static_cast<size_t>(offset)];
  if (cell.is_touched)
    fail(m, site,
         absl::StrCat("a matrix statement computes element ", element_of(site, offset),
                      ", which others touched with no fence in between"));
  ++cell.products;
  ++buffer.shadow->products;
  product.sums.push_back({&site, buffer, offset});
  return cell.is_defined;
}

bool watch_factor(std::span<Machine* const> lanes, const Site& site, const BufferState& buffer,
                  int64_t offset, Product& product) {
  Cell& cell = buffer.shadow->cells[static_cast<size_t>(offset)];
  Machine& first = *lanes[0];
  const Watch& watch = *first.run->watch;
  const auto visible = watch.visible.find(cell.writer);
  if (cell.is_in_flight)
    fail_in_flight(first, site, offset, "reads");
  else if (!cell.is_published && cell.write_block == watch.block &&
           (visible == watch.visible.end() || visible->second <= cell.write_count))
    fail(first, site,
         absl::StrCat("a matrix statement reads element ", element_of(site, offset), ", which ",
                      name_of(cell.writer), " wrote and did not publish before a barrier"));
  for (size_t lane = 0; lane < lanes.size(); lane += kWarpThreads)
    note_read(*lanes[lane], site, buffer, offset);
  ++cell.products;
  ++buffer.shadow->products;
  product.factors.push_back({&site, buffer, offset});
  return cell.is_defined && (buffer.shadow->first_byte < 0 || has_bytes(first, site, buffer, offset));
}

void watch_result(const BufferState& buffer, int64_t offset, bool is_defined) {
  buffer.shadow->cells[static_cast<size_t>(offset)].is_defined = is_defined;
}

void begin_product(Machine& m, Product product) {
  if (m.products.empty()) m.products.emplace_back();
  m.products.back().push_back(std::move(product));
}

void fence_products(const BufferState& buffer) {
  for (Cell& cell : buffer.shadow->cells) cell.is_touched = false;
}

void wait_for_products(std::span<Machine* const> lanes, int32_t groups_in_flight) {
  Machine& m = *lanes[0];
  if (m.products.empty()) m.products.emplace_back();
  const auto keep = static_cast<size_t>(groups_in_flight);
  const size_t done = m.products.size() > keep ? m.products.size() - keep : 0;
  for (size_t group = 0; group < done; ++group) {
    for (const Product& product : m.products[group]) {
      for (const auto* uses : {&product.sums, &product.factors})
        for (const Product::Use& use : *uses) {
          --use.buffer.shadow->cells[static_cast<size_t>(use.offset)].products;
          --use.buffer.shadow->products;
        }
      for (const Product::Use& use : product.factors) {
        if (use.buffer.shadow->first_byte >= 0 && !has_bytes(m, *use.site, use.buffer, use.offset))
          fail(m, *use.site,
               absl::StrCat("element ", element_of(*use.site, use.offset),
                            " was overwritten by another buffer while a matrix statement read it"));
        for (size_t lane = 0; lane < lanes.size(); lane += kWarpThreads)
          note_read(*lanes[lane], *use.site, use.buffer, use.offset);
      }
    }
  }
  m.products.erase(m.products.begin(), m.products.begin() + static_cast<std::ptrdiff_t>(done));
  m.products.emplace_back();
}

void publish(Machine& m) {
  if (m.run->watch != nullptr) m.run->watch->published[m.thread] = ++m.run->watch->publications;
}

void wait_for_copies(Machine& m, int32_t groups_in_flight) {
  if (m.run->watch == nullptr) return;  // they arrived at once
  if (m.copies.empty()) m.copies.emplace_back();
  const auto keep = static_cast<size_t>(groups_in_flight);
  const size_t done = m.copies.size() > keep ? m.copies.size() - keep : 0;
  for (size_t group = 0; group < done; ++group)
    for (const Copy& copy : m.copies[group]) {
      if (m.run->failed) return;
      finish(m, copy);
    }
  m.copies.erase(m.copies.begin(), m.copies.begin() + static_cast<std::ptrdiff_t>(done));
  m.copies.emplace_back();
}

}  // namespace tf::ir::machine
