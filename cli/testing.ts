import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { BuiltInRoleName } from '@millwright/api/permission.ts'
import { type TestCaller, type TestHub, testHub } from '@millwright/cloud/platform/testing/hub.ts'
import type { Environment, Screen, Terminal } from './output/terminal.ts'
import { run } from './program/program.ts'

export type RunOptions = {
  environment?: Environment
  /** The content of standard input. */
  input?: string
  /** The answers to prompts, in order. Without `answers`, the terminal is not interactive. */
  answers?: (string | Promise<string>)[]
  columns?: number
  /** The screen, for commands that show the terminal of another machine. */
  screen?: Screen
  /** Receives each line that is printed to standard error. */
  onNote?: (line: string) => void
}

export type RunResult = { code: number; out: string; err: string }

/** Returns a terminal that records the output and answers prompts with the given answers. */
export function testTerminal({ environment = {}, input = '', answers, columns, screen, onNote }: RunOptions): {
  terminal: Terminal
  printed: { out: string; err: string }
  /** The other ends of standard input and output, for commands that carry bytes. */
  bytes: { input: PassThrough; output: PassThrough }
  interrupt(): void
  /** Ends the command as SIGTERM and SIGHUP do. */
  terminate(): void
} {
  const printed = { out: '', err: '' }
  const listeners = new Set<() => void>()
  const terminationListeners = new Set<() => void>()
  const bytes = { input: new PassThrough(), output: new PassThrough() }
  const left = [...(answers ?? [])]
  const answer = async (question: string) => {
    printed.err += question
    return left.shift() ?? ''
  }
  const terminal: Terminal = {
    environment,
    print: async (line) => {
      printed.out += `${line}\n`
    },
    write: async (content) => {
      for await (const part of content) printed.out += Buffer.from(part).toString()
    },
    note: (line) => {
      printed.err += `${line}\n`
      onNote?.(line)
    },
    progress: () => {},
    columns,
    hasColour: false,
    isInteractive: answers !== undefined,
    prompt: answer,
    promptSecret: answer,
    input: async () => input,
    inputLines: async function* () {
      yield* input.split('\n')
    },
    openBytes: () => bytes,
    screen,
    onInterrupt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    onTermination(listener) {
      terminationListeners.add(listener)
      return () => terminationListeners.delete(listener)
    },
  }
  const interrupt = () => {
    for (const listener of listeners) listener()
  }
  const terminate = () => {
    for (const listener of terminationListeners) listener()
  }
  return { terminal, printed, bytes, interrupt, terminate }
}

/** Splits a line into words like a shell. Supports only the shell syntax that the examples use. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:\$\([^)]*\)|'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []
  return words.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double))
}

/** `TestPlatform` runs a platform that listens on a port, and runs commands in this process. */
export class TestPlatform {
  readonly hub: TestHub
  readonly url: string
  /** The folder of a temporary home directory without profiles. */
  readonly folder: string

  private constructor(hub: TestHub, url: string) {
    this.hub = hub
    this.url = url
    this.folder = mkdtempSync(join(tmpdir(), 'millwright-cli-'))
  }

  /** Starts a platform. Passkeys need the host name `localhost`. */
  static async open({
    hostName = '127.0.0.1',
    ...options
  }: Parameters<typeof testHub>[0] & { hostName?: '127.0.0.1' | 'localhost' } = {}): Promise<TestPlatform> {
    const hub = await testHub({ ...options, arrangement: 'one process' })
    const [cloud] = hub.clouds
    if (cloud === undefined) throw new TypeError('A hub has at least one process')
    const port = await cloud.listen({ host: '127.0.0.1', port: 0 })
    const url = `${options.tls === undefined ? 'http' : 'https'}://${hostName}:${port}`
    cloud.setBaseUrl(url)
    return new TestPlatform(hub, url)
  }

  /** Returns the environment of a user without profiles, on a machine without a platform. */
  get environment(): Record<string, string> {
    return { HOME: this.folder, MILLWRIGHT_HOME: join(this.folder, 'home') }
  }

  as(role: BuiltInRoleName | undefined): Promise<TestCaller> {
    return this.hub.as(role)
  }

  /** Runs a command in this process with the given token. */
  async run(args: readonly string[], options: RunOptions & { token?: string } = {}): Promise<RunResult> {
    const identity = options.token === undefined ? {} : { MILLWRIGHT_URL: this.url, MILLWRIGHT_TOKEN: options.token }
    const environment = { ...this.environment, ...identity, ...options.environment }
    const { terminal, printed } = testTerminal({ ...options, environment })
    const code = await run(args, terminal)
    return { code, ...printed }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.folder, { recursive: true, force: true })
    await this.hub[Symbol.asyncDispose]()
  }
}
