import type { ReactNode } from 'react'
import { Icon } from '../values/icon.tsx'

type EmptyStateProps = {
  icon?: string
  title: string
  /** Whether the texts are aligned at the start of the line, for an empty state with steps. */
  isAtStart?: boolean
  children?: ReactNode
}

/** `EmptyState` explains why a list is empty and what to do next. */
export function EmptyState({ icon, title, isAtStart = false, children }: EmptyStateProps) {
  return (
    <div className="empty-state" data-at-start={isAtStart}>
      {icon !== undefined && <Icon name={icon} size={32} />}
      <p className="empty-title">{title}</p>
      {children}
    </div>
  )
}
