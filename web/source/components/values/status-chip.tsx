import type { ReactNode } from 'react'

export type Tone = 'neutral' | 'good' | 'warning' | 'critical' | 'bad' | 'info'

/** `StatusChip` shows a state as text. The colour only supplements the text. */
export function StatusChip({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className="chip" data-tone={tone}>
      {children}
    </span>
  )
}
