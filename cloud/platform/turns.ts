import { Problem } from '@millwright/api/problem.ts'

export type Turns = <Result>(work: () => Promise<Result>) => Promise<Result>

type Options = { atOnce: number; waiting: number /** Said to whoever is too much. */; refusal: string }

/** Lets so many run at once and so many wait for their turn; anybody beyond is told to come back. */
export function createTurns({ atOnce, waiting, refusal }: Options): Turns {
  const queue: (() => void)[] = []
  let running = 0

  async function turn(): Promise<void> {
    if (running < atOnce) {
      running++
      return
    }
    if (queue.length >= waiting) throw new Problem('overloaded', refusal, { retryAfter: 2 })
    await new Promise<void>((resolve) => queue.push(resolve))
  }

  return async (work) => {
    await turn()
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
