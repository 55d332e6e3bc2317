import { iconMaximize, iconMinus, iconPlus } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import type { GraphData } from './graph-data.ts'
import { GraphPainter, type Look } from './graph-painter.ts'
import { graphMessages } from './messages.ts'

type Given = { data: GraphData; look: Look; onSelect: (key: string | undefined) => void }

/** The picture of a graph. It says nothing that the list beside it does not say. */
export function GraphCanvas({ data, look, onSelect }: Given) {
  const text = useText(graphMessages)
  const formats = useFormats()
  const place = useRef<HTMLDivElement>(null)
  const painter = useRef<GraphPainter>(null)
  const [isSettled, setSettled] = useState(false)
  const [isDrawable, setDrawable] = useState(true)
  const selected = useEffectEvent(onSelect)
  const lookNow = useEffectEvent(() => look)
  useEffect(() => {
    if (place.current === null) return
    try {
      painter.current = new GraphPainter(place.current, lookNow(), {
        onSelect: (key) => selected(key),
        onSettled: setSettled,
      })
    } catch {
      setDrawable(false)
    }
    return () => {
      painter.current?.dispose()
      painter.current = null
    }
  }, [])
  useEffect(() => painter.current?.show(data, lookNow()), [data])
  useEffect(() => painter.current?.repaint(look), [look])
  useEffect(() => {
    if (look.selected !== undefined) painter.current?.focusOn(look.selected)
  }, [look.selected])
  const label = text.picture(formats.number(data.nodes.size), formats.number(data.edges.size))
  if (!isDrawable) return <p className="graph-none quiet">{text.noPicture}</p>
  return (
    <div className="graph-frame">
      <div
        ref={place}
        className="graph-canvas"
        role="img"
        aria-label={label}
        data-things={data.nodes.size}
        data-relations={data.edges.size}
        data-settled={isSettled}
      />
      <div className="graph-tools">
        <Tool icon={iconPlus} label={text.zoomIn} onClick={() => painter.current?.zoom('in')} />
        <Tool icon={iconMinus} label={text.zoomOut} onClick={() => painter.current?.zoom('out')} />
        <Tool icon={iconMaximize} label={text.showAll} onClick={() => painter.current?.zoom('all')} />
      </div>
      {!isSettled && data.edges.size > 0 && <p className="graph-settling">{text.settling}</p>}
    </div>
  )
}

function Tool({ icon, label, onClick }: { icon: string; label: string; onClick: () => void }) {
  return <IxIconButton icon={icon} size="24" variant="secondary" aria-label={label} title={label} onClick={onClick} />
}
