import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import { sanitize } from '../output/text.ts'
import type { Session } from '../session/session.ts'
import { targetText } from './local-port.ts'
import type { OpenRemoteSession } from './remote-session.ts'
import type { RemoteStream, StreamQuery } from './stream.ts'

/** This file opens a stream to the SSH server of a device: it shows the host key and answers prompts of the device. */

type SignInOptions = {
  query: StreamQuery
  /** Receives the messages after the sign-in. */
  onMessage: (message: StreamMessage) => void
}

/** A stream whose user has signed in at the device. */
export async function openSignedIn(
  session: Session,
  remote: OpenRemoteSession,
  { query, onMessage }: SignInOptions,
): Promise<RemoteStream> {
  const signedIn = Promise.withResolvers<void>()
  const ended = new AbortController()
  let stream: RemoteStream | undefined
  // Prompts are answered one after the other, also when the device sends the next one early.
  let answering: Promise<void> = Promise.resolve()
  const handle = (message: StreamMessage) => {
    if (message.type === 'host-key') return session.terminal.note(hostKeyText(remote, message))
    if (message.type === 'signed-in') return signedIn.resolve()
    if (message.type !== 'prompt') return onMessage(message)
    answering = answering.then(async () => {
      const answers = await answersTo(session, message, ended.signal)
      stream?.sendMessage({ type: 'answers', answers })
    })
    answering.catch(signedIn.reject)
  }
  stream = await remote.open(query, { onMessage: handle })
  const end = (error?: Error | null) => {
    ended.abort()
    signedIn.reject(error ?? new CommandError('The device ended the connection before the sign-in.'))
  }
  stream.once('error', end)
  stream.once('close', end)
  try {
    await signedIn.promise
    return stream
  } catch (error) {
    stream.destroy()
    throw error
  } finally {
    stream.off('error', end)
    stream.off('close', end)
  }
}

function hostKeyText({ details }: OpenRemoteSession, { algorithm, fingerprint, isNew }: StreamMessage): string {
  const { assetName, address, port } = details
  const device = `${sanitize(assetName)}${address === undefined ? '' : ` (${targetText(address, port)})`}`
  const state = isNew === true ? 'new; stored for the next sessions' : 'known'
  return `Host key of ${device}: ${sanitize(String(algorithm))} ${sanitize(String(fingerprint))} (${state})`
}

type Prompt = { text: string; isSecret: boolean }

function promptsIn({ prompts }: StreamMessage): Prompt[] {
  if (!Array.isArray(prompts)) return []
  // A prompt is secret unless the gateway states the contrary, so that no secret is shown by mistake.
  return prompts.map((prompt) => ({ text: String(prompt?.text ?? ''), isSecret: prompt?.isSecret !== false }))
}

async function answersTo({ terminal }: Session, message: StreamMessage, signal: AbortSignal): Promise<string[]> {
  const prompts = promptsIn(message)
  if (prompts.length > 0 && !terminal.isInteractive)
    throw new CommandError('The device asks for a user name or a password, but standard input is not a terminal.', {
      exitCode: exitCodes.usage,
      next: 'pass a credential of the platform with --credential, or use a terminal',
    })
  for (const text of [message.title, message.instructions])
    if (typeof text === 'string' && text.trim() !== '')
      for (const line of text.trim().split(/\r?\n/)) terminal.note(sanitize(line))
  const answers: string[] = []
  for (const { text, isSecret } of prompts) {
    const question = `${sanitize(text.trim()).replace(/:$/, '')}: `
    answers.push(await (isSecret ? terminal.promptSecret(question, signal) : terminal.prompt(question, signal)))
  }
  return answers
}
