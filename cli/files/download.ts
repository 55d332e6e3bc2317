import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Contract } from '@millwright/api/contract.ts'
import { usageError } from '../output/error-report.ts'
import { formatBytes } from '../output/text.ts'
import { problemOf, type Session } from '../session/session.ts'

type SaveOptions = {
  contract: Contract
  /** The file to write. Without it, the response names the file. `-` is standard output. */
  file: string | undefined
  /** What the command prints in the JSON formats, in addition to the name and size of the file. */
  data: object
  /** The end of the sentence that the command prints. */
  summary?: string
}

/** Writes the content of a response to a file. The file appears under its name when it is complete. */
export async function saveResponse(session: Session, response: Response, options: SaveOptions): Promise<void> {
  const { contract, data, summary } = options
  if (response.status >= 400)
    throw problemOf(contract, { status: response.status, headers: response.headers, body: await response.json() })
  const content = Readable.fromWeb((response.body ?? new Blob([]).stream()) as never)
  const file = options.file ?? fileNameOf(response)
  if (file === '-') return session.terminal.write(content)
  const partial = `${file}.part`
  const target = createWriteStream(partial)
  try {
    await pipeline(content, target)
    await rename(partial, file)
  } catch (error) {
    await rm(partial, { force: true })
    const { code, message } = error as NodeJS.ErrnoException
    throw usageError(`${file} cannot be written (${code ?? message}).`)
  }
  const bytes = target.bytesWritten
  const details = summary === undefined ? formatBytes(bytes) : `${summary}, ${formatBytes(bytes)}`
  await session.output.done(`${file} written: ${details}`, { data: { ...data, file, bytes } })
}

/** Returns the name of the file in a response, without folders. */
function fileNameOf(response: Response): string {
  const header = response.headers.get('content-disposition') ?? ''
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(header)?.[1]
  const plain = /filename="([^"]*)"/i.exec(header)?.[1]
  const name = encoded === undefined ? (plain ?? '') : decodeURIComponent(encoded)
  const safe = name.replaceAll(/[\p{Cc}/\\:*?"<>|]/gu, '_').replace(/^\.+/, '_')
  return safe === '' ? 'export' : safe
}
