/** The geometry of the map. */

export type Box = { x: number; y: number; width: number; height: number }

/** The free space between the boxes of a grid. */
export type Gap = { x: number; y: number }

export type Point = { x: number; y: number }
