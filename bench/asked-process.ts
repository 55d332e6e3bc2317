import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A process that does what it is asked, and answers. */
export type AskedProcess<Question> = {
  ask<Answer>(question: Question): Promise<Answer>
  stop(): Promise<void>
}

type Asked<Question> = { id: number; question: Question }
type Message = { ready: unknown } | { id: number; answer: unknown }

/** Starts a file of this folder, and waits until it says that it is ready. Bytes come as bytes, in both directions. */
export async function startAsked<Question, Ready = undefined>(
  file: string,
  options: Pick<ForkOptions, 'env' | 'execArgv'> = {},
): Promise<AskedProcess<Question> & { ready: Ready }> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { ...options, serialization: 'advanced' })
  const waiting = new Map<number, (answer: unknown) => void>()
  const ready = Promise.withResolvers<Ready>()
  child.on('message', (message: Message) => {
    if ('ready' in message) ready.resolve(message.ready as Ready)
    else waiting.get(message.id)?.(message.answer)
  })
  child.once('exit', (code) => ready.reject(new Error(`${file} ended with ${code} before it was ready`)))
  let asked = 0
  const ask = <Answer>(question: Question) =>
    new Promise<Answer>((resolve, reject) => {
      const id = asked++
      waiting.set(id, (answer) => {
        waiting.delete(id)
        if (isFailure(answer)) reject(new Error(answer.error))
        else resolve(answer as Answer)
      })
      child.send({ id, question } satisfies Asked<Question>)
    })
  return { ready: await ready.promise, ask, stop: () => stop(child) }
}

/** The other side, in the process that is asked. */
export function answerQuestions<Question>(answerTo: (question: Question) => Promise<unknown>): void {
  process.on('message', async ({ id, question }: Asked<Question>) => {
    const answer = await answerTo(question).catch((error: Error) => ({ error: error.stack ?? error.message }))
    process.send?.({ id, answer })
  })
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

function isFailure(answer: unknown): answer is { error: string } {
  return typeof answer === 'object' && answer !== null && 'error' in answer
}
