import type { ReactNode } from 'react'
import { useRovingFocus } from './roving-focus.ts'

const tools = 'ix-button:not([disabled]), button:not(.menu-item):not(:disabled), select'

/** `ToolGroup` contains the tools of a list. The tools are one tab stop: the arrow keys move between them. */
export function ToolGroup({ label, children }: { label: string; children: ReactNode }) {
  const roving = useRovingFocus<HTMLDivElement>(tools)
  return (
    <div className="tool-group" role="toolbar" aria-label={label} {...roving}>
      {children}
    </div>
  )
}
