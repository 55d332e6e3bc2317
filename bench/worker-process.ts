import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** `WorkerProcess` is a child process that executes commands and returns their results. */
export type WorkerProcess<Command> = {
  request<Answer>(command: Command): Promise<Answer>
  stop(): Promise<void>
}

type CommandMessage<Command> = { id: number; command: Command }
type Message = { ready: unknown } | { id: number; answer: unknown }

/**
 * Starts a file of this folder as a child process, and waits until the process reports that it is ready. Messages may
 * contain binary data.
 */
export async function startWorkerProcess<Command, Ready = undefined>(
  file: string,
  options: Pick<ForkOptions, 'env' | 'execArgv' | 'execPath'> = {},
): Promise<WorkerProcess<Command> & { ready: Ready }> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { ...options, serialization: 'advanced' })
  const waiting = new Map<number, (answer: unknown) => void>()
  const ready = Promise.withResolvers<Ready>()
  child.on('message', (message: Message) => {
    if ('ready' in message) ready.resolve(message.ready as Ready)
    else waiting.get(message.id)?.(message.answer)
  })
  child.once('exit', (code) => ready.reject(new Error(`${file} ended with ${code} before it was ready`)))
  let sent = 0
  const request = <Answer>(command: Command) =>
    new Promise<Answer>((resolve, reject) => {
      const id = sent++
      waiting.set(id, (answer) => {
        waiting.delete(id)
        if (isFailure(answer)) reject(new Error(answer.error))
        else resolve(answer as Answer)
      })
      child.send({ id, command } satisfies CommandMessage<Command>)
    })
  return { ready: await ready.promise, request, stop: () => stop(child) }
}

/** Handles commands in the worker process. */
export function handleCommands<Command>(handle: (command: Command) => Promise<unknown>): void {
  process.on('message', async ({ id, command }: CommandMessage<Command>) => {
    const answer = await handle(command).catch((error: Error) => ({ error: error.stack ?? error.message }))
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
