import type { ReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'

/** What a file holds, or standard input for `-`. */
export async function jsonFrom(terminal: Terminal, file: string): Promise<unknown> {
  if (file === '-') return parsed(await terminal.input(), 'Standard input')
  return parsed(await textOf(file), file)
}

type JsonObject = { [field: string]: unknown }

/** Objects one by one, however many: a line each (NDJSON), or all in one document; `-` is standard input. */
export async function* objectsIn(terminal: Terminal, file: string): AsyncGenerator<JsonObject> {
  if (file === '-') return yield* linesOf(terminal.inputLines(), 'Standard input')
  if (file.endsWith('.ndjson')) return yield* linesOf(createInterface({ input: await opened(file) }), file)
  const text = await textOf(file)
  const isDocument = text.trimStart().startsWith('[') || !/\}\s*\n\s*\{/.test(text)
  if (isDocument) yield* objectsOf(parsed(text, file), file)
  else yield* linesOf(text.split('\n'), file)
}

/** Lines before one that is no object have been taken, perhaps sent, by then: it is told where to go on. */
async function* linesOf(lines: Iterable<string> | AsyncIterable<string>, from: string): AsyncGenerator<JsonObject> {
  let number = 0
  for await (const line of lines) {
    const place = `${from}, line ${++number},`
    if (line.trim() !== '') yield asObject(parsed(line, place), place)
  }
}

function* objectsOf(document: unknown, from: string): Generator<JsonObject> {
  const data = (document as { data?: unknown }).data ?? document
  for (const one of [data].flat()) yield asObject(one, from)
}

function asObject(value: unknown, from: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw usageError(`${from} holds something that is no JSON object.`)
}

export async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error) => unreadable(file, error))
}

async function opened(file: string): Promise<ReadStream> {
  const handle = await open(file).catch((error) => unreadable(file, error))
  return handle.createReadStream()
}

function unreadable(file: string, { code }: NodeJS.ErrnoException): never {
  throw usageError(`${file} cannot be read (${code}).`)
}

export function parsed(text: string, from: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usageError(`${from} is no JSON: ${(error as Error).message}`)
  }
}

/** A value as it was typed: what can be read as JSON is JSON, the rest is text. */
export function typedValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** `name=value` taken apart. */
export function pairOf(text: string, option: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === '') throw usageError(`${option} is like name=value.`)
  return [name, value]
}
