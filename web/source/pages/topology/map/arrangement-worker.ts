import { type ArrangementInput, forceLayout, type Grid } from './arrangement.ts'

/** The request and the response of the worker that computes the force layout of one group. */
export type ArrangementRequest = ArrangementInput & { id: string }
export type ArrangementResponse = { id: string; grid: Grid }

addEventListener('message', ({ data: { id, ...input } }: MessageEvent<ArrangementRequest>) => {
  postMessage({ id, grid: forceLayout(input) } satisfies ArrangementResponse)
})
