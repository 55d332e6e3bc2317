import type { ReactNode } from 'react'
import { Icon } from '../values/icon.tsx'

/** Why there is nothing to see, and what to do about it. */
export function EmptyState({ icon, title, children }: { icon?: string; title: string; children?: ReactNode }) {
  return (
    <div className="empty-state">
      {icon !== undefined && <Icon name={icon} size={32} />}
      <p className="empty-title">{title}</p>
      {children}
    </div>
  )
}
