import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { createInterface as createQuestions, type Interface } from 'node:readline/promises'
import { type Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CommandError, exitCodes } from './error-report.ts'
import { truncate } from './text.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** `Screen` is the terminal of the user, for a command that shows the terminal of another machine. */
export type Screen = {
  size(): { columns: number; rows: number }
  onResize(listener: () => void): () => void
  /** In raw mode, standard input delivers each key as it is typed, also Ctrl-C, and output is not changed. */
  setRawMode(isRaw: boolean): void
}

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
  prompt(question: string, signal?: AbortSignal): Promise<string>
  /** Prompts for a value that is not shown while it is typed. */
  promptSecret(question: string, signal?: AbortSignal): Promise<string>
  /** Reads standard input to its end. */
  input(): Promise<string>
  inputLines(): AsyncIterable<string>
  /** Returns standard input and output as bytes. The command handles errors of both, such as a closed pipe. */
  openBytes(): { input: Readable; output: Writable }
  /** The screen, if standard input and output are a terminal. */
  screen: Screen | undefined
  /** Replaces the default action of Ctrl-C by the listener. The returned function removes the listener. */
  onInterrupt(listener: () => void): () => void
  /** Replaces the default action of SIGTERM and SIGHUP by the listener. The returned function removes the listener. */
  onTermination(listener: () => void): () => void
}

/** Returns the terminal of this process. */
export function processTerminal(): Terminal {
  const { stdout, stderr, stdin } = process
  let shown = ''
  let lineEnd = '\n'
  const clear = () => {
    if (shown !== '') stderr.write('\r\u001b[K')
    shown = ''
  }
  // A reader such as `head` may close the pipe early, which is not an error.
  const exitOnError = (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1)
  stdout.on('error', exitOnError)
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
      stderr.write(`${line}\n`.replaceAll('\n', lineEnd))
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
    prompt: (question, signal) => {
      clear()
      return withPrompt(stderr, (questions, end) => questions.question(question, { signal: end }), signal)
    },
    async promptSecret(question, signal) {
      clear()
      const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
      const ask = (questions: Interface, end: AbortSignal) => {
        // The echo is turned off before the question is printed, because the user may start to type before the question
        // appears.
        stderr.write(question)
        return questions.question('', { signal: end })
      }
      return withPrompt(silent, ask, signal).finally(() => stderr.write('\n'))
    },
    input: () => text(stdin),
    inputLines: () => createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY }),
    openBytes() {
      stdout.off('error', exitOnError)
      // The program that reads the messages may have ended.
      stderr.on('error', () => {})
      return { input: stdin, output: stdout }
    },
    screen:
      stdin.isTTY && stdout.isTTY
        ? {
            size: () => ({ columns: stdout.columns, rows: stdout.rows }),
            onResize(listener) {
              stdout.on('resize', listener)
              return () => stdout.off('resize', listener)
            },
            setRawMode(isRaw) {
              stdin.setRawMode(isRaw)
              // Node still converts LF to CR LF on output, which moves the cursor of full-screen programs. The raw mode of
              // Node ends with the settings from before, so this change ends too. Windows has no `stty` and no conversion.
              if (isRaw) spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] })
              lineEnd = isRaw ? '\r\n' : '\n'
            },
          }
        : undefined,
    onInterrupt: (listener) => onSignals(['SIGINT'], listener),
    onTermination: (listener) => onSignals(['SIGTERM', 'SIGHUP'], listener),
  }
}

function onSignals(signals: readonly NodeJS.Signals[], listener: () => void): () => void {
  for (const signal of signals) process.on(signal, listener)
  return () => {
    for (const signal of signals) process.off(signal, listener)
  }
}

async function withPrompt(
  output: NodeJS.WritableStream,
  prompt: (questions: Interface, end: AbortSignal) => Promise<string>,
  signal?: AbortSignal,
): Promise<string> {
  const questions = createQuestions({ input: process.stdin, output, terminal: true })
  const interruption = new AbortController()
  questions.once('SIGINT', () => {
    if (process.listenerCount('SIGINT') === 0) process.exit(exitCodes.interrupted)
    process.emit('SIGINT')
    interruption.abort()
  })
  const end = signal === undefined ? interruption.signal : AbortSignal.any([interruption.signal, signal])
  try {
    return await prompt(questions, end)
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    throw new CommandError('Interrupted.', { exitCode: exitCodes.interrupted })
  } finally {
    questions.close()
  }
}
