import { access, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type ExportFile, exports, unfinishedExportStates } from '@millwright/api/exports.ts'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'
import { formatCount } from '../output/text.ts'
import type { Session } from '../session/session.ts'
import { saveResponse } from './download.ts'

/** This file waits for the end of exports and writes their content to files. */

const pollMs = 250

/** Throws if the file cannot be written, so that the user does not wait for an export that cannot be saved. */
export async function checkOutput(file: string | undefined): Promise<void> {
  if (file === undefined || file === '-') return
  const existing = await stat(file).catch(() => undefined)
  if (existing?.isDirectory()) throw usageError(`${file} is a folder.`, 'add the name of the file to --output')
  await access(dirname(file), constants.W_OK).catch(({ code }: NodeJS.ErrnoException) => {
    throw usageError(`The folder of ${file} cannot be written (${code}).`, 'create the folder, or use another one')
  })
}

/** Waits for an export and writes it to a file. Ctrl-C cancels the export. */
export async function saveExport(session: Session, exportId: string, output: string | undefined): Promise<void> {
  const interruption = new AbortController()
  const release = session.terminal.onInterrupt(() => interruption.abort())
  try {
    const ended = await untilEnd(session, exportId, interruption.signal)
    await download(session, ended, output)
  } catch (error) {
    if (!interruption.signal.aborted) throw error
    await session
      .api(exports)
      .cancelExport({ params: { exportId } })
      .catch(() => {})
    throw new CommandError(`Export ${exportId} is canceled.`, { exitCode: exitCodes.interrupted })
  } finally {
    release()
  }
}

async function untilEnd(session: Session, exportId: string, signal: AbortSignal): Promise<ExportFile> {
  for (;;) {
    const { data } = await session.api(exports).readExport({ params: { exportId } })
    if (!unfinishedExportStates.includes(data.state)) return requireFinished(data)
    session.terminal.progress(progressLine(data))
    await delay(pollMs, undefined, { signal })
  }
}

/** Returns the progress of an export that waits or runs. */
function progressLine({ state, progress, rows, total }: ExportFile): string {
  if (state === 'queued') return 'Waiting for other exports'
  return `${progress} %: ${rows}${total === undefined ? '' : ` of ${total}`}`
}

function requireFinished(ended: ExportFile): ExportFile {
  const { state, problem, id } = ended
  if (state === 'finished') return ended
  if (state === 'failed') throw new CommandError(`The export failed: ${problem?.detail}`)
  throw new CommandError(`Export ${id} was canceled.`)
}

async function download(session: Session, { id, rows, ...ended }: ExportFile, file: string | undefined): Promise<void> {
  const response = await session.open(exports, 'readExportContent', { params: { exportId: id } })
  const summary = formatCount(rows, 'entry', 'entries')
  await saveResponse(session, response, { contract: exports, file, summary, data: { id, rows, ...ended } })
}
