import { chownSync, closeSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import type { Account } from './account.ts'

const keptBytes = 4 * 1024 * 1024

export type ServerLog = { file: string; descriptor: number; close(): void; lastMeaningfulLine(): string }

/**
 * Opens the log. A log that is too large is renamed. Only one renamed log is kept, because only recent messages matter.
 */
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

/**
 * Returns the text of the log from a position. A missing file is not an error, because a home may be deleted while its
 * server ends.
 */
function textFrom(file: string, start: number): string {
  try {
    return readFileSync(file).subarray(start).toString()
  } catch {
    return ''
  }
}

/** Returns the line with the reason why the server ended. The lines after a fatal error only report the end. */
export function meaningfulLine(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const worst =
    lines.findLast((line) => /\b(FATAL|PANIC): /.test(line)) ?? lines.findLast((line) => /error: /.test(line))
  return (worst ?? lines.at(-1) ?? 'it logged no reason')
    .replace(/^.*?\b(FATAL|PANIC|ERROR|LOG|error):\s+/, '')
    .replace(/\.$/, '')
}
