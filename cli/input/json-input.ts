import type { ReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'

/** Reads a JSON document from a file, or from standard input for `-`. */
export async function readJson(terminal: Terminal, file: string): Promise<unknown> {
  if (file === '-') return parseJson(await terminal.input(), 'Standard input')
  return parseJson(await readText(file), file)
}

type JsonObject = { [field: string]: unknown }

/**
 * Reads objects as a stream. The input contains one object per line (NDJSON), or one document with all objects. The
 * file name `-` means standard input.
 */
export async function* readObjects(terminal: Terminal, file: string): AsyncGenerator<JsonObject> {
  if (file === '-') return yield* linesOf(terminal.inputLines(), 'Standard input')
  if (file.endsWith('.ndjson')) return yield* linesOf(createInterface({ input: await openStream(file) }), file)
  const text = await readText(file)
  const isDocument = text.trimStart().startsWith('[') || !/\}\s*\n\s*\{/.test(text)
  if (isDocument) yield* objectsOf(parseJson(text, file), file)
  else yield* linesOf(text.split('\n'), file)
}

/** Yields each line as an object. An error names the line, because earlier lines may already have been sent. */
async function* linesOf(lines: Iterable<string> | AsyncIterable<string>, from: string): AsyncGenerator<JsonObject> {
  let number = 0
  for await (const line of lines) {
    const place = `${from}, line ${++number},`
    if (line.trim() !== '') yield asObject(parseJson(line, place), place)
  }
}

function* objectsOf(document: unknown, from: string): Generator<JsonObject> {
  const data = (document as { data?: unknown }).data ?? document
  for (const one of [data].flat()) yield asObject(one, from)
}

function asObject(value: unknown, from: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw usageError(`${from} contains a value that is not a JSON object.`)
}

export async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error) => unreadable(file, error))
}

async function openStream(file: string): Promise<ReadStream> {
  const handle = await open(file).catch((error) => unreadable(file, error))
  return handle.createReadStream()
}

function unreadable(file: string, { code }: NodeJS.ErrnoException): never {
  throw usageError(`${file} cannot be read (${code}).`)
}

export function parseJson(text: string, from: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw usageError(`${from} is not valid JSON: ${(error as Error).message}`)
  }
}

/** Parses a value of the command line as JSON. Text that is not valid JSON is returned unchanged. */
export function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Parses `name=value`. */
export function parsePair(text: string, option: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === '') throw usageError(`${option} must have the form name=value.`)
  return [name, value]
}
