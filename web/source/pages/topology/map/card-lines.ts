/** The lines of text in a card. */

/** The height of a line in relation to its text, and the smallest height of a line. */
export const lineHeight = 1.3
export const lowestLine = 12.5
/** The smallest height of a line with more than two lines, so that no text is at the edge of its card. */
const lowestOfSeveral = 13.5

/** The space between the edge of a card and its first and last text. */
const inset = 5

/** The space above and below all lines, and by how much capital letters are above the middle of a line. */
export const around = 3
export const lowered = 1

/** The space between two texts in one line, and between a text at the right and the right edge of its card. */
export const gap = 6
export const right = { start: 5, end: 7 }

/** Returns the largest size of a text with which a number of lines fits into a height. */
export function sizeFor(height: number, lines: number): number {
  return height / lines / lineHeight
}

/** Returns the number of lines in a height. */
export function linesIn(height: number): number {
  const several = Math.floor(height / lowestOfSeveral)
  return several > 2 ? several : Math.min(2, Math.floor(height / lowestLine))
}

/** Returns the distance between the lines of a card. With more lines, they are closer together, and not closer to the edge. */
export function stepOf(height: number, { lines, size }: { lines: number; size: number }): number {
  const largest = Math.min(size * lineHeight, (height - around) / lines)
  if (lines < 2) return largest
  return Math.min(largest, Math.max(lowestLine, (height - 2 * inset - size) / (lines - 1)))
}
