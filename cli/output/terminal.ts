import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { createInterface as createQuestions, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { exitCodes } from './error-report.ts'
import { cut } from './text.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where a command was typed: what it prints, what it asks, and how much of that somebody sees. */
export type Terminal = {
  environment: Environment
  /** A line on standard output; waits while nobody takes it. */
  print(line: string): Promise<void>
  /** A line on standard error: what is not the result. */
  tell(line: string): void
  /** One line on standard error that is written over; nothing where nobody looks. */
  progress(line: string): void
  /** How wide the screen is; undefined when the output goes into a file or a pipe. */
  columns: number | undefined
  hasColour: boolean
  /** Somebody can be asked something. */
  canAsk: boolean
  ask(question: string): Promise<string>
  /** Asks for something that is not shown while it is typed. */
  askSecret(question: string): Promise<string>
  /** Everything that stands in standard input. */
  input(): Promise<string>
  inputLines(): AsyncIterable<string>
  /** Does something else than to end at Ctrl-C, until it is taken back. */
  onInterrupt(listener: () => void): () => void
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr, stdin } = process
  let shown = ''
  const clear = () => {
    if (shown !== '') stderr.write('\r\u001b[K')
    shown = ''
  }
  // Whoever reads may have seen enough, as `head` does.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  return {
    environment: process.env,
    async print(line) {
      clear()
      if (!stdout.write(`${line}\n`)) await once(stdout, 'drain')
    },
    tell(line) {
      clear()
      stderr.write(`${line}\n`)
    },
    progress(line) {
      if (!stderr.isTTY) return
      clear()
      shown = cut(line, (stderr.columns ?? 80) - 1)
      stderr.write(shown)
    },
    columns: stdout.isTTY ? stdout.columns : undefined,
    hasColour: stdout.isTTY === true && (process.env.NO_COLOR ?? '') === '' && process.env.TERM !== 'dumb',
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    ask: (question) => asked(stderr, (questions) => questions.question(question)),
    async askSecret(question) {
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
      const answer = await asked(silent, (questions) => {
        // From here on the terminal shows nothing by itself: somebody may type before they read.
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

async function asked(output: NodeJS.WritableStream, ask: (questions: Interface) => Promise<string>): Promise<string> {
  const questions = createQuestions({ input: process.stdin, output, terminal: true })
  questions.once('SIGINT', () => process.exit(exitCodes.interrupted))
  try {
    return await ask(questions)
  } finally {
    questions.close()
  }
}
