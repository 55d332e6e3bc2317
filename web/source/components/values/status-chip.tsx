import type { ReactNode } from 'react'

export type Tone = 'neutral' | 'good' | 'warning' | 'bad' | 'info'

/** A state in a word. The tone supports the word and never replaces it. */
export function StatusChip({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className="chip" data-tone={tone}>
      {children}
    </span>
  )
}
