#include "compiler/runtime/executor/control.h"

#include <string.h>

#include "compiler/runtime/executor/tables.h"

namespace {

int32_t run_branch(tf_execution* run, const tf_model_step& step) {
  void** buffers = run->buffers + step.first_buffer;
  const uint32_t number = *static_cast<const uint8_t*>(buffers[0]) != 0 ? step.body : step.other_body;
  const tf_model_program& body = tf_table_at<tf_model_program>(run->header, run->header->programs)[number];
  const uint64_t tensors = uint64_t{body.input_count} + body.output_count;
  for (uint64_t i = 0; i < tensors; ++i) run->bound[body.first_tensor + i] = buffers[1 + i];
  return tf_run_program(run, number, static_cast<uint8_t*>(buffers[1 + tensors]));
}

bool is_aligned(const void* place) {
  return reinterpret_cast<uintptr_t>(place) % TF_ALIGNMENT == 0;
}

// A loop's buffers by their roles, as TF_STEP_LOOP lists them.
struct Loop {
  Loop(tf_execution* execution, const tf_model_step& step)
      : run(execution),
        number(step.body),
        body(tf_table_at<tf_model_program>(run->header, run->header->programs)[step.body]),
        tensors(run->tensors + body.first_tensor) {
    // How many values a loop has does not depend on their sizes.
    const int64_t* numbers = tf_table_at<int64_t>(run->header, run->header->numbers) + step.first_dim;
    conditional = numbers[0] != 0;
    carried = static_cast<uint32_t>(numbers[1]);
    scanned = static_cast<uint32_t>(numbers[2]);
    joined = static_cast<uint32_t>(numbers[3]);
    backward = numbers + 4;
    void** next = run->buffers + step.first_buffer;
    trips = *static_cast<const int64_t*>(*next++);
    begins = conditional ? *static_cast<const uint8_t*>(*next++) != 0 : true;
    given = next;
    next += body.input_count - 1;
    results = next;
    next += carried + joined;
    iteration = static_cast<int64_t*>(*next++);
    condition = static_cast<uint8_t*>(*next++);
    places = next;
    next += carried;
    slices = next;
    next += scanned + joined;
    arena = static_cast<uint8_t*>(*next);
    inputs = run->bound + body.first_tensor;
    outputs = inputs + body.input_count;
  }

  uint64_t input_bytes(uint64_t i) const { return tensors[i].size_bytes; }
  uint64_t output_bytes(uint64_t i) const { return tensors[body.input_count + i].size_bytes; }

  // Where the slice number `i` (of scanned ones, then joined ones) of this trip lies in all of them.
  uint8_t* slice(uint64_t i, void* all, uint64_t bytes, int64_t trip) const {
    return static_cast<uint8_t*>(all) +
           static_cast<uint64_t>(backward[i] != 0 ? trips - 1 - trip : trip) * bytes;
  }

  // Whether what is scanned and joined has a slice for each trip.
  bool has_slices() const {
    const auto fits = [&](void** buffer, uint64_t bytes) {
      return bytes == 0 || trips <= 0 ||
             static_cast<uint64_t>(trips) <= run->sizes_bytes[buffer - run->buffers] / bytes;
    };
    for (uint64_t i = 0; i < scanned; ++i)
      if (!fits(given + carried + i, input_bytes(1 + carried + i))) return false;
    for (uint64_t i = 0; i < joined; ++i)
      if (!fits(results + carried + i, output_bytes(first_output() + carried + i))) return false;
    return true;
  }

  void begin() {
    inputs[0] = iteration;
    for (uint64_t i = 1; i < body.input_count; ++i) inputs[i] = given[i - 1];
  }

  // Before a trip: the slices that it reads, and where it writes. Carried values alternate between two places, so that
  // the last trip writes the results.
  void prepare(int64_t trip) {
    *iteration = trip;
    for (uint64_t i = 0; i < scanned; ++i) {
      const uint64_t input = 1 + carried + i, bytes = input_bytes(input);
      uint8_t* place = slice(i, given[carried + i], bytes, trip);
      inputs[input] = is_aligned(place) ? place : memcpy(slices[i], place, bytes);
    }
    if (conditional) outputs[0] = condition;
    for (uint64_t i = 0; i < carried; ++i)
      outputs[first_output() + i] = (trips - 1 - trip) % 2 == 0 ? results[i] : places[i];
    for (uint64_t i = 0; i < joined; ++i) {
      const uint64_t output = first_output() + carried + i;
      uint8_t* place = slice(scanned + i, results[carried + i], output_bytes(output), trip);
      outputs[output] = is_aligned(place) ? place : slices[scanned + i];
    }
  }

  // After a trip: what it wrote for the next, and its slices that have another place.
  void finish(int64_t trip) {
    for (uint64_t i = 0; i < carried; ++i) inputs[1 + i] = outputs[first_output() + i];
    for (uint64_t i = 0; i < joined; ++i) {
      const uint64_t output = first_output() + carried + i, bytes = output_bytes(output);
      uint8_t* place = slice(scanned + i, results[carried + i], bytes, trip);
      if (outputs[output] != place) memcpy(place, outputs[output], bytes);
    }
  }

  void end() {
    for (uint64_t i = 0; i < carried; ++i)
      if (inputs[1 + i] != results[i]) memcpy(results[i], inputs[1 + i], input_bytes(1 + i));
  }

  uint64_t first_output() const { return conditional ? 1 : 0; }

  tf_execution* run;
  const uint32_t number;
  const tf_model_program& body;
  const tf_model_tensor* tensors;
  bool conditional, begins;
  uint32_t carried, scanned, joined;
  const int64_t* backward;
  int64_t trips;
  void **given, **results, **places, **slices, **inputs, **outputs;
  int64_t* iteration;
  uint8_t *condition, *arena;
};

int32_t run_loop(tf_execution* run, const tf_model_step& step) {
  Loop loop(run, step);
  if (!loop.has_slices()) return TF_MODEL_BAD_SIZE;
  loop.begin();
  bool goes_on = loop.begins;
  for (int64_t trip = 0; trip < loop.trips && goes_on; ++trip) {
    loop.prepare(trip);
    if (int32_t error = tf_run_program(run, loop.number, loop.arena); error != 0) return error;
    loop.finish(trip);
    if (loop.conditional) goes_on = *loop.condition != 0;
  }
  loop.end();
  return 0;
}

}  // namespace

int32_t tf_run_control(tf_execution* run, const tf_model_step& step) {
  return step.kind == TF_STEP_BRANCH ? run_branch(run, step) : run_loop(run, step);
}
