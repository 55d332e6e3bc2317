/** This file defines the messages of a stream that the console receives as text messages of the WebSocket. */

export type HostKeyMessage = { type: 'host-key'; algorithm: string; fingerprint: string; isNew: boolean }
export type SignInPrompt = { text: string; isSecret: boolean }
export type PromptMessage = { type: 'prompt'; title: string; instructions: string; prompts: readonly SignInPrompt[] }
export type FolderEntry = { name: string; type: 'file' | 'folder' | 'other'; size?: number; modified?: string }
export type EntriesMessage = {
  type: 'entries'
  path: string
  entries: readonly FolderEntry[]
  /** Whether all entries of the folder are listed. */
  isComplete: boolean
}
export type ErrorMessage = { type: 'error'; code: string; detail: string }

export type StreamMessage =
  | HostKeyMessage
  | PromptMessage
  | { type: 'signed-in'; user: string }
  | { type: 'exit'; code?: number; signal?: string }
  | { type: 'file'; size: number }
  | { type: 'stored'; size: number }
  | EntriesMessage
  | ErrorMessage

const types: readonly string[] = [
  'host-key',
  'prompt',
  'signed-in',
  'exit',
  'file',
  'stored',
  'entries',
  'error',
] satisfies StreamMessage['type'][]

/** Reads a text message. Returns undefined for a type that this version of the console does not know. */
export function parseStreamMessage(text: string): StreamMessage | undefined {
  const message: unknown = JSON.parse(text)
  const isKnown =
    typeof message === 'object' && message !== null && 'type' in message && types.includes(String(message.type))
  return isKnown ? (message as StreamMessage) : undefined
}

/** The close codes of the WebSocket. */
export const closeCodes = { normal: 1000, error: 4000, sessionEnded: 4001 } as const

/** `StreamClose` is the end of a stream, with the error that the platform sent before it closed the WebSocket. */
export type StreamClose = { code: number; error?: ErrorMessage }

/** Returns whether a new stream may be opened, because the connection was lost or a process of the platform restarts. */
export function isConnectionLoss({ code }: StreamClose): boolean {
  return !Object.values<number>(closeCodes).includes(code)
}
