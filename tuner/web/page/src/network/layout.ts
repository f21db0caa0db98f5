// Owns: where the nodes of a layered graph lie. Does not know: what they are, how they are drawn.
// After Sugiyama, Tagawa and Toda (1981): layers by the longest path, places for long edges, order by barycentres, then x by
// least squares under a least distance (pool adjacent violators).

export interface Box {
  x: number; // of the centre
  y: number; // of the top
}

export interface Layout {
  nodes: Box[];
  edges: { from: number; to: number; points: { x: number; y: number }[] }[];
  width: number;
  height: number;
}

export interface Sizes {
  width: number;
  height: number;
  gapX: number;
  gapY: number;
}

interface Place {
  layer: number;
  node: number; // -1: a long edge passes here
  before: Place[];
  after: Place[];
  x: number;
  at: number; // within its layer
}

const narrow = 0.16; // of a node's width: what an edge that passes takes

/** Inputs of each node: numbers of earlier nodes. */
export function layOut(inputs: readonly (readonly number[])[], sizes: Sizes): Layout {
  const layerOf: number[] = [];
  inputs.forEach((of, i) => (layerOf[i] = of.reduce((layer, input) => Math.max(layer, layerOf[input] + 1), 0)));
  // A source lies right above who reads it first.
  const firstReader = inputs.map(() => Infinity);
  inputs.forEach((of, i) => of.forEach((input) => (firstReader[input] = Math.min(firstReader[input], layerOf[i]))));
  inputs.forEach((of, i) => {
    if (of.length === 0 && firstReader[i] !== Infinity) layerOf[i] = firstReader[i] - 1;
  });

  const places: Place[] = layerOf.map((layer, node) => ({ layer, node, before: [], after: [], x: 0, at: 0 }));
  const layers: Place[][] = [];
  const put = (place: Place) => (layers[place.layer] ??= []).push(place);
  places.forEach(put);
  const chains: { from: number; to: number; way: Place[] }[] = [];
  inputs.forEach((of, to) =>
    new Set(of).forEach((from) => {
      const way = [places[from]];
      for (let layer = layerOf[from] + 1; layer < layerOf[to]; layer++) {
        const passing: Place = { layer, node: -1, before: [], after: [], x: 0, at: 0 };
        put(passing);
        way.push(passing);
      }
      way.push(places[to]);
      for (let i = 1; i < way.length; i++) {
        way[i - 1].after.push(way[i]);
        way[i].before.push(way[i - 1]);
      }
      chains.push({ from, to, way });
    }),
  );
  for (let i = 0; i < layers.length; i++) layers[i] ??= [];

  order(layers);
  spread(layers, sizes);
  const all = layers.flat();
  const room = sizes.width / 2 + sizes.gapX;
  const left = all.reduce((least, place) => Math.min(least, place.x), Infinity) - room;
  const right = all.reduce((most, place) => Math.max(most, place.x), -Infinity) + room;
  const top = (layer: number) => sizes.gapY / 2 + layer * (sizes.height + sizes.gapY);
  return {
    nodes: places.map((place) => ({ x: place.x - left, y: top(place.layer) })),
    edges: chains.map(({ from, to, way }) => ({
      from,
      to,
      points: way.flatMap((place, i) => {
        const x = place.x - left;
        const y = top(place.layer);
        if (i === 0) return [{ x, y: y + sizes.height }];
        if (i === way.length - 1) return [{ x, y }];
        return [{ x, y }, { x, y: y + sizes.height }];
      }),
    })),
    width: all.length > 0 ? right - left : 0,
    height: layers.length * (sizes.height + sizes.gapY),
  };
}

function number(layer: Place[]): void {
  layer.forEach((place, at) => (place.at = at));
}

function crossings(layers: readonly Place[][]): number {
  let sum = 0;
  for (const layer of layers) {
    const ends = layer.flatMap((place) => place.after.map((next) => next.at).sort((a, b) => a - b));
    for (let i = 1; i < ends.length; i++) for (let j = i - 1; j >= 0 && ends.length < 400; j--) if (ends[j] > ends[i]) sum++;
  }
  return sum;
}

/** Sorts each layer by the mean place of its neighbours, down and up, and keeps the order with the fewest crossings. */
function order(layers: Place[][]): void {
  layers.forEach(number);
  let best = layers.map((layer) => [...layer]);
  let least = crossings(layers);
  for (let sweep = 0; sweep < 12 && least > 0; sweep++) {
    const down = sweep % 2 === 0;
    for (let i = 0; i < layers.length; i++) {
      const layer = layers[down ? i : layers.length - 1 - i];
      const key = new Map(
        layer.map((place) => {
          const near = down ? place.before : place.after;
          return [place, near.length > 0 ? near.reduce((sum, one) => sum + one.at, 0) / near.length : place.at];
        }),
      );
      layer.sort((a, b) => key.get(a)! - key.get(b)! || a.at - b.at);
      number(layer);
    }
    const now = crossings(layers);
    if (now < least) {
      least = now;
      best = layers.map((layer) => [...layer]);
    }
  }
  best.forEach((layer, i) => {
    layers[i] = layer;
    number(layer);
  });
}

/** Moves places towards their neighbours; those of one layer keep their order and distance. */
function spread(layers: Place[][], sizes: Sizes): void {
  const widthOf = (place: Place) => (place.node < 0 ? sizes.width * narrow : sizes.width);
  const offsets = layers.map((layer) => {
    let at = 0;
    return layer.map((place, i) => (at += i === 0 ? 0 : (widthOf(layer[i - 1]) + widthOf(place)) / 2 + sizes.gapX));
  });
  layers.forEach((layer, l) => layer.forEach((place, i) => (place.x = offsets[l][i] - (offsets[l].at(-1) ?? 0) / 2)));
  for (let sweep = 0; sweep < 16; sweep++) {
    const down = sweep % 2 === 0;
    for (let i = 0; i < layers.length; i++) {
      const l = down ? i : layers.length - 1 - i;
      const layer = layers[l];
      const wishes = layer.map((place, at) => {
        const near = sweep >= 14 ? [...place.before, ...place.after] : down ? place.before : place.after;
        const wish = near.length > 0 ? near.reduce((sum, one) => sum + one.x, 0) / near.length : place.x;
        // A long edge is straight before all others.
        const isLong = place.node < 0 && near.some((one) => one.node < 0);
        return { value: wish - offsets[l][at], weight: isLong ? 8 : near.length > 0 ? 1 : 0.1 };
      });
      isotonic(wishes).forEach((value, at) => (layer[at].x = value + offsets[l][at]));
    }
  }
}

/** The ascending values nearest to the wishes. */
export function isotonic(wishes: readonly { value: number; weight: number }[]): number[] {
  const blocks: { sum: number; weight: number; count: number }[] = [];
  for (const { value, weight } of wishes) {
    blocks.push({ sum: value * weight, weight, count: 1 });
    while (blocks.length > 1) {
      const last = blocks.at(-1)!;
      const before = blocks.at(-2)!;
      if (before.sum / before.weight <= last.sum / last.weight) break;
      before.sum += last.sum;
      before.weight += last.weight;
      before.count += last.count;
      blocks.pop();
    }
  }
  return blocks.flatMap((block) => new Array<number>(block.count).fill(block.sum / block.weight));
}
