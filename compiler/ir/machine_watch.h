#pragma once
// Owns: who touched each element of memory, and when: what finds races between threads, reads of what nobody wrote, and
// touches of what an asynchronous copy still moves. Private to compiler/ir. Does not know: how programs run.
//
// Time is counted in epochs: a barrier begins one, as do each block and each launch. Blocks run one after another here, but what two
// of one launch touch, one of them writing, is a race too.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/machine.h"

namespace tf::ir::machine {

// Of one element. Blocks and epochs count from 1.
struct Cell {
  uint32_t write_block = 0, write_epoch = 0;
  uint32_t first_read_block = 0, read_epoch = 0;  // the launch's first that read it
  ThreadId writer = {}, readers[2] = {};          // two that read it in read_epoch, or one twice
  bool is_defined = false;                        // holds what somebody wrote
  bool is_in_flight = false;
  bool is_published = false;  // by who wrote it: an asynchronous copy of a box
  bool is_touched = false;    // c by what is no asynchronous matrix statement, with no fence since
  uint16_t products = 0;      // in flight, that make it or read it
  uint32_t write_count = 0;   // Watch::publications when it was written
};

// Of a byte of a block's shared memory where buffers share bytes: whose it is, and when it was touched last.
struct SharedByte {
  const Shadow* owner = nullptr;  // whose element was written there last
  uint32_t epoch = 0;
};

// Of one buffer.
struct Shadow {
  std::vector<Cell> cells;
  bool is_shared = false;  // by several threads: races matter
  bool is_param = false;
  int64_t in_flight = 0;    // elements
  int64_t products = 0;     // in flight: uses of elements
  int64_t first_byte = -1;  // in Watch::bytes; -1: it has memory of its own
  uint32_t block = 0;       // of shared memory: which block's
};

struct Watch {
  bool copies_land_late = true;
  uint32_t epoch = 0;
  uint32_t block = 0;                         // counted over the whole run
  uint32_t launch = 0;                        // its first block
  std::map<const Node*, Shadow> shared = {};  // by allocation
  // Where buffers share bytes: their places, the memory, and what was done with it.
  const std::map<const BufferNode*, int64_t>* shared_offsets = nullptr;
  std::vector<std::byte> memory = {};
  std::vector<SharedByte> bytes = {};
  uint32_t bytes_block = 0;
  // Counts the threads' publications; by thread its last, and the last before a barrier that all have passed.
  uint32_t publications = 0;
  std::map<ThreadId, uint32_t> published = {}, visible = {};
  void pass_barrier() {
    ++epoch;
    visible = published;
  }
  void begin_launch() {
    begin_block();
    launch = block;
  }
  void begin_block() {
    ++block;
    ++epoch;
  }
};

// Each reports what is wrong to the run; `offset` is the physical one. A read says whether the element holds what somebody
// wrote, a write is told whether the value does.
bool watch_read(Machine& m, const Site& site, const BufferState& buffer, int64_t offset);
void watch_write(Machine& m, const Site& site, const BufferState& buffer, int64_t offset, bool is_defined);
// Of a lane of an access: whether its indices are made of what was written, and of a store, its predicate.
bool check_indices(Machine& m, const Site& site, int32_t lane);
bool check_predicate(Machine& m, const Site& site, int32_t mask, int32_t lane);
// Likewise of what a branch or a loop has just decided by.
bool check_decision(Machine& m, const Node& node);

// Of locations that were checked: `from` is null where zeros arrive. What `is_published` can be a factor once it is visible.
void begin_copy(Machine& m, const Site& target, const Site& source, int64_t to,
                const BufferState* source_buffer, int64_t from, int64_t elements, bool is_published = false);
// Closes the open group and lets arrive what may not be in flight any longer.
void wait_for_copies(Machine& m, int32_t groups_in_flight);

// Of a multiplication that is asynchronous: an element of c, which may be in the making; of a factor, that the first lanes of
// all warps read. They say whether the element holds what somebody wrote, and become a part of the product.
bool watch_sum(Machine& m, const Site& site, const BufferState& buffer, int64_t offset, Product& product);
bool watch_factor(std::span<Machine* const> lanes, const Site& site, const BufferState& buffer,
                  int64_t offset, Product& product);
void watch_result(const BufferState& buffer, int64_t offset, bool is_defined);
void begin_product(Machine& m, Product product);
void fence_products(const BufferState& buffer);
void wait_for_products(std::span<Machine* const> lanes, int32_t groups_in_flight);

// " at i=1, j=2": the loop variables around an access.
std::string place_of(Machine& m, const Site& site);

}  // namespace tf::ir::machine
