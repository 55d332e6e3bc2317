import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { usageError } from './report.ts'
import type { Terminal } from './terminal.ts'

/** What a file holds, or standard input for `-`. */
export async function jsonFrom(terminal: Terminal, file: string): Promise<unknown> {
  if (file === '-') return parsed(await terminal.input(), 'Standard input')
  return parsed(await textOf(file), file)
}

type JsonObject = { [field: string]: unknown }

/** Objects one by one, however many: a line each (NDJSON), or all in one document; `-` is standard input. */
export async function* objectsIn(terminal: Terminal, file: string): AsyncGenerator<JsonObject> {
  if (file !== '-' && !file.endsWith('.ndjson')) {
    const text = await textOf(file)
    const document = text.trimStart().startsWith('[') || !/\}\s*\n\s*\{/.test(text) ? parsed(text, file) : undefined
    if (document !== undefined) return yield* objectsOf(document, file)
    for (const line of text.split('\n')) if (line.trim() !== '') yield asObject(parsed(line, file), file)
    return
  }
  const from = file === '-' ? 'Standard input' : file
  const lines = file === '-' ? terminal.inputLines() : createInterface({ input: createReadStream(file) })
  for await (const line of lines) if (line.trim() !== '') yield asObject(parsed(line, from), from)
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
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${file} cannot be read (${error.code}).`)
  })
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
