import type { Permits } from './permits.ts'

/*
 * This file contains time limits that do not count pauses of this process. A gateway can be busy: the operating system
 * stops its processes for seconds, and one task can block the event loop. Answers that arrive in this time wait in
 * the buffers of the sockets, so a device must not be reported as silent before they are read.
 */

/** The number of parts of a time limit. A pause counts as at most one of them. */
const usualSlices = 8
/** The turns of the event loop after the last part, in which the answers that have arrived are handled. */
const finalTurns = 2

type TimerOptions = {
  /** One slice for a limit that must not last longer than its time: then each pause counts. */
  slices?: number
}

/** `Timer` ends when it is disposed. `leftMs` returns the time that is left. */
type Timer = Disposable & { leftMs: () => number }

/**
 * Calls `expire` after a time, unless the timer is disposed before. A pause of this process counts as at most one slice of
 * the time. Answers that have arrived before the end are handled before `expire` is called.
 */
export function startTimer(ms: number, expire: () => void, { slices = usualSlices }: TimerOptions = {}): Timer {
  const sliceMs = Math.ceil(ms / slices)
  let timer: NodeJS.Timeout | undefined
  let immediate: NodeJS.Immediate | undefined
  let slice = { left: slices, startedMs: performance.now() }
  const wait = (left: number) => {
    slice = { left, startedMs: performance.now() }
    if (left === 0) turn(finalTurns)
    else timer = setTimeout(wait, sliceMs, left - 1)
  }
  const turn = (left: number) => {
    if (left === 0) expire()
    else immediate = setImmediate(turn, left - 1)
  }
  wait(slices)
  return {
    leftMs: () => Math.max(0, slice.left * sliceMs - Math.min(performance.now() - slice.startedMs, sliceMs)),
    [Symbol.dispose]: () => {
      clearTimeout(timer)
      clearImmediate(immediate)
    },
  }
}

/** `TimeLimit` is a signal that is aborted when a call is canceled, or when a time has passed. */
export type TimeLimit = Disposable & {
  signal: AbortSignal
  /** Starts the time. Later calls have no effect. */
  start: () => void
  /** Returns permits that stop the time while a request waits for its permit. A small budget is not a slow device. */
  permits: (permits: Permits) => Permits
}

type TimeLimitOptions = {
  ms: number
  /** The signal of the call. */
  canceled: AbortSignal
  /** Returns the reason of the signal when the time has passed. */
  reason: () => Error
}

/** Returns a limit for several requests to one device. The time starts with `start`. */
export function timeLimit({ ms, canceled, reason }: TimeLimitOptions): TimeLimit {
  // AbortSignal.any would keep memory for each device until the end of the scan.
  const controller = new AbortController()
  let timer: Timer | undefined
  let leftMs = ms
  let waiting = 0
  let isStarted = false
  let isDisposed = false
  const stop = () => {
    leftMs = timer?.leftMs() ?? leftMs
    timer?.[Symbol.dispose]()
    timer = undefined
  }
  const run = () => {
    if (isStarted && !isDisposed && waiting === 0) timer ??= startTimer(leftMs, () => controller.abort(reason()))
  }
  const cancel = () => controller.abort(canceled.reason)
  if (canceled.aborted) cancel()
  canceled.addEventListener('abort', cancel, { once: true })
  return {
    signal: controller.signal,
    start: () => {
      isStarted = true
      run()
    },
    permits: (permits) => ({
      take: async (request) => {
        stop()
        waiting += 1
        try {
          return await permits.take(request)
        } finally {
          waiting -= 1
          run()
        }
      },
    }),
    [Symbol.dispose]: () => {
      isDisposed = true
      canceled.removeEventListener('abort', cancel)
      stop()
    },
  }
}
