import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuiltInRoleName } from '@millwright/api/permission.ts'
import { type TestCaller, type TestHub, testHub } from '@millwright/cloud/platform/testing/hub.ts'
import type { Terminal } from './output/terminal.ts'
import { run } from './program/program.ts'

export type Typed = {
  environment?: Record<string, string>
  /** What stands in standard input. */
  input?: string
  /** What somebody answers when asked, in order. */
  answers?: string[]
  columns?: number
  /** Called with each line that is told, as it is told. */
  onTold?: (line: string) => void
}

export type Ended = { code: number; out: string; err: string }

/** A terminal that remembers what was printed, in front of somebody who has made up their mind. */
export function testTerminal({ environment = {}, input = '', answers, columns, onTold }: Typed): {
  terminal: Terminal
  printed: { out: string; err: string }
  interrupt(): void
} {
  const printed = { out: '', err: '' }
  const listeners = new Set<() => void>()
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
    tell: (line) => {
      printed.err += `${line}\n`
      onTold?.(line)
    },
    progress: () => {},
    columns,
    hasColour: false,
    canAsk: answers !== undefined,
    ask: answer,
    askSecret: answer,
    input: async () => input,
    inputLines: async function* () {
      yield* input.split('\n')
    },
    onInterrupt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const interrupt = () => {
    for (const listener of listeners) listener()
  }
  return { terminal, printed, interrupt }
}

/** As a shell takes a line apart, as far as examples need it. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:\$\([^)]*\)|'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []
  return words.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double))
}

/** A platform that listens, and a command line in front of it. */
export class TestPlatform {
  readonly hub: TestHub
  readonly url: string
  /** Nobody's home and nobody's profiles. */
  readonly folder: string

  private constructor(hub: TestHub, url: string) {
    this.hub = hub
    this.url = url
    this.folder = mkdtempSync(join(tmpdir(), 'millwright-cli-'))
  }

  static async open(options: Parameters<typeof testHub>[0] = {}): Promise<TestPlatform> {
    const hub = await testHub({ ...options, arrangement: 'one process' })
    const [cloud] = hub.clouds
    if (cloud === undefined) throw new TypeError('A hub has at least one process')
    const port = await cloud.listen({ host: '127.0.0.1', port: 0 })
    const url = `http://127.0.0.1:${port}`
    cloud.setBaseUrl(url)
    return new TestPlatform(hub, url)
  }

  /** What is set for somebody without a profile and without a home. */
  get surroundings(): Record<string, string> {
    return { HOME: this.folder, MILLWRIGHT_HOME: join(this.folder, 'home') }
  }

  as(role: BuiltInRoleName | undefined): Promise<TestCaller> {
    return this.hub.as(role)
  }

  /** Runs a command in this process, as whoever the token belongs to. */
  async run(given: readonly string[], typed: Typed & { token?: string } = {}): Promise<Ended> {
    const identity = typed.token === undefined ? {} : { MILLWRIGHT_URL: this.url, MILLWRIGHT_TOKEN: typed.token }
    const environment = { ...this.surroundings, ...identity, ...typed.environment }
    const { terminal, printed } = testTerminal({ ...typed, environment })
    const code = await run(given, terminal)
    return { code, ...printed }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.folder, { recursive: true, force: true })
    await this.hub[Symbol.asyncDispose]()
  }
}
