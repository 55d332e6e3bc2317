import type { ReactNode } from 'react'
import { Icon } from '../values/icon.tsx'

/** `EmptyState` explains why a list is empty and what to do next. */
export function EmptyState({ icon, title, children }: { icon?: string; title: string; children?: ReactNode }) {
  return (
    <div className="empty-state">
      {icon !== undefined && <Icon name={icon} size={32} />}
      <p className="empty-title">{title}</p>
      {children}
    </div>
  )
}
