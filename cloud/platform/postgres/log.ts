import { chownSync, closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import type { Account } from './account.ts'

const keptBytes = 4 * 1024 * 1024

export type ServerLog = { file: string; descriptor: number; close(): void; lastMeaningfulLine(): string }

/** A log that has grown is kept once, beside the new one: it only tells what went wrong lately. */
export function openLog(file: string, account: Account): ServerLog {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > keptBytes) renameSync(file, `${file}.1`)
  const descriptor = openSync(file, 'a', 0o600)
  if (process.getuid?.() !== account.uid) chownSync(file, account.uid, account.gid)
  const { size: start } = statSync(file)
  return {
    file,
    descriptor,
    close: () => closeSync(descriptor),
    lastMeaningfulLine: () => meaningfulLine(textFrom(file, start)),
  }
}

/** A home may be deleted while its server ends; that is no reason to fail. */
function textFrom(file: string, start: number): string {
  try {
    return readFileSync(file).subarray(start).toString()
  } catch {
    return ''
  }
}

/** The server's last word on why it ended; what follows a fatal line only tells that it ended. */
export function meaningfulLine(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const worst =
    lines.findLast((line) => /\b(FATAL|PANIC): /.test(line)) ?? lines.findLast((line) => /error: /.test(line))
  return (worst ?? lines.at(-1) ?? 'it said nothing')
    .replace(/^.*?\b(FATAL|PANIC|ERROR|LOG|error):\s+/, '')
    .replace(/\.$/, '')
}
