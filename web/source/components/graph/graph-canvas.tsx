import { iconMaximize, iconMinus, iconPlus } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import type { GraphData } from './graph-data.ts'
import { type GraphAppearance, GraphRenderer } from './graph-renderer.ts'
import { graphMessages } from './messages.ts'

type GraphCanvasProps = { data: GraphData; appearance: GraphAppearance; onSelect: (key: string | undefined) => void }

/**
 * `GraphCanvas` draws the graph. For users who cannot see the drawing, the list next to it contains the same
 * information.
 */
export function GraphCanvas({ data, appearance, onSelect }: GraphCanvasProps) {
  const text = useText(graphMessages)
  const formats = useFormats()
  const place = useRef<HTMLDivElement>(null)
  const renderer = useRef<GraphRenderer>(null)
  const [isSettled, setSettled] = useState(false)
  const [isDrawable, setDrawable] = useState(true)
  const selected = useEffectEvent(onSelect)
  const currentAppearance = useEffectEvent(() => appearance)
  useEffect(() => {
    if (place.current === null) return
    try {
      renderer.current = new GraphRenderer(place.current, currentAppearance(), {
        onSelect: (key) => selected(key),
        onSettled: setSettled,
      })
    } catch {
      setDrawable(false)
    }
    return () => {
      renderer.current?.dispose()
      renderer.current = null
    }
  }, [])
  useEffect(() => renderer.current?.show(data, currentAppearance()), [data])
  useEffect(() => renderer.current?.repaint(appearance), [appearance])
  useEffect(() => {
    if (appearance.selected !== undefined) renderer.current?.focusOn(appearance.selected)
  }, [appearance.selected])
  const label = text.picture(formats.number(data.nodes.size), formats.number(data.edges.size))
  if (!isDrawable) return <p className="graph-none quiet">{text.noPicture}</p>
  return (
    <div className="graph-frame">
      <div
        ref={place}
        className="graph-canvas"
        role="img"
        aria-label={label}
        data-nodes={data.nodes.size}
        data-relations={data.edges.size}
        data-settled={isSettled}
      />
      <div className="graph-tools">
        <Tool icon={iconPlus} label={text.zoomIn} onClick={() => renderer.current?.zoom('in')} />
        <Tool icon={iconMinus} label={text.zoomOut} onClick={() => renderer.current?.zoom('out')} />
        <Tool icon={iconMaximize} label={text.showAll} onClick={() => renderer.current?.zoom('all')} />
      </div>
      {!isSettled && data.edges.size > 0 && <p className="graph-settling">{text.settling}</p>}
    </div>
  )
}

function Tool({ icon, label, onClick }: { icon: string; label: string; onClick: () => void }) {
  return <IxIconButton icon={icon} size="24" variant="secondary" aria-label={label} title={label} onClick={onClick} />
}
