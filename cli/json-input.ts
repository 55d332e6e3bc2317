import { readFile } from 'node:fs/promises'
import { usageError } from './report.ts'
import type { Terminal } from './terminal.ts'

/** What a file holds, or standard input for `-`. */
export async function jsonFrom(terminal: Terminal, file: string): Promise<unknown> {
  if (file === '-') return parsed(await terminal.input(), 'Standard input')
  return parsed(await textOf(file), file)
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
