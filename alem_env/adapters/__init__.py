"""The world behind the interfaces of other libraries; import the one you need from its module."""
