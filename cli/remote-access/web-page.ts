import { once } from 'node:events'
import { remoteAccess, remoteAccessLimits } from '@millwright/api/remote-access.ts'
import { CommandError } from '../output/error-report.ts'
import { sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'
import type { OpenRemoteSession } from './remote-session.ts'
import { timeLeftText } from './session-watch.ts'

/** Prints the address of the web page of the device, and waits until the session ends or until Ctrl-C. */
export async function showWebPage(session: Session, remote: OpenRemoteSession): Promise<void> {
  const { terminal, output } = session
  const { id, assetName, url } = remote.details
  if (url === undefined)
    throw new CommandError('The platform returned no address for the web page of the session.', {
      next: 'open a local port instead: millwright connect <asset> 80',
    })
  const link = await enterUrl(session, remote, url)
  await output.done(link, { data: { url: link, session: remote.details } })
  if (!output.isText) return untilEnd(remote)
  const left = timeLeftText(remote.details)
  terminal.note(
    `Open this address within ${remoteAccessLimits.ticketSeconds} seconds. It works once and shows the web page of ${sanitize(assetName)}.`,
  )
  terminal.note(
    `Session ${id} ends in ${left}. ${terminal.isInteractive ? 'For a new address, press Enter. ' : ''}To end the session now, press Ctrl-C.`,
  )
  if (!terminal.isInteractive) return untilEnd(remote)
  await Promise.race([untilEnd(remote), printMore(session, remote, url)])
}

async function printMore(session: Session, remote: OpenRemoteSession, url: string): Promise<void> {
  const { input } = session.terminal.openBytes()
  const print = () => {
    enterUrl(session, remote, url)
      .then((link) => session.terminal.print(link))
      .catch((error: Error) => session.terminal.note(error.message))
  }
  input.on('data', print).resume()
  try {
    await untilEnd(remote)
  } finally {
    input.off('data', print).pause()
  }
}

async function untilEnd({ signal }: OpenRemoteSession): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Returns the address with a new ticket, which signs the browser in to the web page. */
async function enterUrl({ api }: Session, { details }: OpenRemoteSession, url: string): Promise<string> {
  const { data } = await api(remoteAccess).createTicket({ params: { id: details.id } })
  const link = new URL('.millwright/enter', url)
  link.searchParams.set('ticket', data.ticket)
  return link.href
}
