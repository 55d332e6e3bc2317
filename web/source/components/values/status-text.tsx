import { memo, type ReactNode } from 'react'
import type { Tone } from './status-chip.tsx'

/** The shapes of the tones on a square of 16 units. They differ, so that a state is not shown by its colour alone. */
const shapes: Readonly<Record<Tone, string>> = {
  good: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm3 3.8L7 9 5 7 4 8l3 3 5-5.2Z',
  bad: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1ZM5.7 4.6 4.6 5.7 6.9 8l-2.3 2.3 1.1 1.1L8 9.1l2.3 2.3 1.1-1.1L9.1 8l2.3-2.3-1.1-1.1L8 6.9Z',
  critical: 'M2 2h12v12H2Z',
  warning: 'M8 1.5 15.5 15H.5ZM7.2 6v4.5h1.6V6Zm0 5.7v1.6h1.6v-1.6Z',
  info: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm-.8 6v5h1.6V7Zm0-3v1.6h1.6V4Z',
  neutral: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 1.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM5 7.2h6v1.6H5Z',
}

/** A hollow square, for a state that is only the last known one. */
const lastKnownShape = 'M2 2h12v12H2Zm2.5 2.5v7h7v-7Z'

type StatusTextProps = {
  tone: Tone
  title?: string
  /** Whether the state is only the last known one of a controller in stop. */
  isLastKnown?: boolean
  children: ReactNode
}

/**
 * `StatusText` shows a state in a row of a table, with an icon whose shape and colour depend on the tone. It is a plain SVG
 * element, because a custom element in each row would slow down scrolling.
 */
export const StatusText = memo(function StatusText({ tone, title, isLastKnown, children }: StatusTextProps) {
  return (
    <span className="status-text" data-tone={tone} title={title}>
      <svg viewBox="0 0 16 16" fillRule="evenodd" aria-hidden="true">
        <path d={isLastKnown ? lastKnownShape : shapes[tone]} />
      </svg>
      <span>{children}</span>
    </span>
  )
})
