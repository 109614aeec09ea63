"""Pictures drawn: by matplotlib (`static`) and by plotly (`interactive`)."""
