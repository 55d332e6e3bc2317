import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { createInterface as createQuestions, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { exitCodes } from './error-report.ts'
import { truncate } from './text.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** `Terminal` provides the environment, output, prompts and input of a command. Tests use their own implementation. */
export type Terminal = {
  environment: Environment
  /** Prints a line to standard output. Waits while the program that reads the output is slower than the command. */
  print(line: string): Promise<void>
  /** Writes content to standard output as it is, for example a file. */
  write(content: AsyncIterable<Uint8Array>): Promise<void>
  /** Prints a line to standard error. Everything except the result of the command is printed to standard error. */
  note(line: string): void
  /**
   * Shows a line on standard error, which the next output replaces. Nothing is printed if standard error is not a
   * terminal.
   */
  progress(line: string): void
  /** The width of the terminal. It is undefined when the output is a file or a pipe. */
  columns: number | undefined
  hasColour: boolean
  /** True when the command can prompt for input. */
  isInteractive: boolean
  prompt(question: string): Promise<string>
  /** Prompts for a value that is not shown while it is typed. */
  promptSecret(question: string): Promise<string>
  /** Reads standard input to its end. */
  input(): Promise<string>
  inputLines(): AsyncIterable<string>
  /** Replaces the default action of Ctrl-C by the listener. The returned function removes the listener. */
  onInterrupt(listener: () => void): () => void
}

/** Returns the terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr, stdin } = process
  let shown = ''
  const clear = () => {
    if (shown !== '') stderr.write('\r\u001b[K')
    shown = ''
  }
  // A reader such as `head` may close the pipe early, which is not an error.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  return {
    environment: process.env,
    async print(line) {
      clear()
      if (!stdout.write(`${line}\n`)) await once(stdout, 'drain')
    },
    async write(content) {
      clear()
      for await (const part of content) if (!stdout.write(part)) await once(stdout, 'drain')
    },
    note(line) {
      clear()
      stderr.write(`${line}\n`)
    },
    progress(line) {
      if (!stderr.isTTY) return
      clear()
      shown = truncate(line, (stderr.columns || 80) - 1)
      stderr.write(shown)
    },
    columns: stdout.isTTY ? stdout.columns : undefined,
    hasColour: stdout.isTTY === true && (process.env.NO_COLOR ?? '') === '' && process.env.TERM !== 'dumb',
    isInteractive: stdin.isTTY === true && stderr.isTTY === true,
    prompt: (question) => withPrompt(stderr, (questions) => questions.question(question)),
    async promptSecret(question) {
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
      const answer = await withPrompt(silent, (questions) => {
        // The echo is turned off before the question is printed, because the user may start to type before the question
        // appears.
        stderr.write(question)
        return questions.question('')
      })
      stderr.write('\n')
      return answer
    },
    input: () => text(stdin),
    inputLines: () => createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY }),
    onInterrupt(listener) {
      process.on('SIGINT', listener)
      return () => process.off('SIGINT', listener)
    },
  }
}

async function withPrompt(
  output: NodeJS.WritableStream,
  prompt: (questions: Interface) => Promise<string>,
): Promise<string> {
  const questions = createQuestions({ input: process.stdin, output, terminal: true })
  questions.once('SIGINT', () => process.exit(exitCodes.interrupted))
  try {
    return await prompt(questions)
  } finally {
    questions.close()
  }
}
