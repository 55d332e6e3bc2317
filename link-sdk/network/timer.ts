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

/**
 * Calls `expire` after a time, unless the timer is disposed before. A pause of this process counts as at most one slice of
 * the time. Answers that have arrived before the end are handled before `expire` is called.
 */
export function startTimer(ms: number, expire: () => void, { slices = usualSlices }: TimerOptions = {}): Disposable {
  let timer: NodeJS.Timeout | undefined
  let immediate: NodeJS.Immediate | undefined
  const wait = (left: number) => {
    if (left === 0) turn(finalTurns)
    else timer = setTimeout(wait, Math.ceil(ms / slices), left - 1)
  }
  const turn = (left: number) => {
    if (left === 0) expire()
    else immediate = setImmediate(turn, left - 1)
  }
  wait(slices)
  return {
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
  const controller = new AbortController()
  let timer: Disposable | undefined
  return {
    signal: AbortSignal.any([canceled, controller.signal]),
    start: () => {
      timer ??= startTimer(ms, () => controller.abort(reason()))
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  }
}
