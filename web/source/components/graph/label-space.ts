type Point = { x: number; y: number }
type Circle = Point & { size: number }
type Box = { left: number; right: number; top: number; bottom: number }

/** The distance between two checked points of a label, in pixels. */
const step = 6
/** The smallest distance to other labels, in pixels. It includes the distance between a label and its relation. */
const margin = 14

/** The places of a label on its relation, in the order in which they are tried. 0 is the middle. */
const shifts = [0, 0.12, -0.12, 0.22, -0.22]

/**
 * `LabelSpace` contains the areas of the labels that are already drawn, so that the labels of relations do not overlap
 * other labels.
 */
export class LabelSpace {
  #boxes: Box[] = []
  #points: Point[] = []

  clear(): void {
    this.#boxes = []
    this.#points = []
  }

  /** Adds a node with its label, which is to the right of the node. */
  addNode({ x, y, size }: Circle, labelWidth: number, labelHeight: number): void {
    const half = Math.max(size, labelHeight / 2)
    this.#boxes.push({ left: x - size, right: x + size + 3 + labelWidth, top: y - half, bottom: y + half })
  }

  /**
   * Returns the ends of a relation, moved along the relation so that its label in the middle overlaps no other label.
   * Returns undefined if there is no such place.
   */
  placeEdge(source: Point, target: Point, labelWidth: number): { source: Point; target: Point } | undefined {
    const [dx, dy] = [target.x - source.x, target.y - source.y]
    const length = Math.hypot(dx, dy)
    for (const shift of shifts) {
      if (labelWidth / 2 + Math.abs(shift) * length > length / 2) continue
      const points: Point[] = []
      for (let at = -labelWidth / 2; at <= labelWidth / 2; at += step) {
        const part = 0.5 + shift + at / length
        points.push({ x: source.x + dx * part, y: source.y + dy * part })
      }
      if (points.some((point) => this.#isTaken(point))) continue
      this.#points.push(...points)
      const moved = ({ x, y }: Point) => ({ x: x + dx * shift, y: y + dy * shift })
      return { source: moved(source), target: moved(target) }
    }
    return undefined
  }

  #isTaken({ x, y }: Point): boolean {
    return (
      this.#boxes.some(
        ({ left, right, top, bottom }) =>
          x > left - margin && x < right + margin && y > top - margin && y < bottom + margin,
      ) || this.#points.some((point) => Math.hypot(point.x - x, point.y - y) < margin)
    )
  }
}
